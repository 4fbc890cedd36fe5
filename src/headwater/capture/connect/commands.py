"""Reads the commands that a Spark Connect client sends: which datasets they name, and how.

A client's plan names files and topics by their options, but not what a catalog's table is,
nor the columns of anything: those the server finds out.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import Dataset
from headwater.capture.datasets.trimming import Trimmer, trim

Message = Any  # of Spark Connect's protocol

_READ = "spark.connect.Read"
_BATCH = ("write_operation", "write_operation_v2")
_BOUNDED = ("available_now", "once")


class Write(Struct, frozen=True):
    """What a command reads and writes, as far as it says."""

    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]
    tables: tuple[str, ...]  # that only the server's catalogs know
    table: str = ""  # the one among them that is written

    @property
    def target(self) -> str:
        """What is written, for its job's name."""
        return self.table or (self.outputs[0].name if self.outputs else "")

    def trimmed(self, trimmers: tuple[Trimmer, ...]) -> "Write":
        """The same write without dates and partitions in the names of folders."""
        inputs, outputs = trim(self.inputs, trimmers), trim(self.outputs, trimmers)
        return msgspec.structs.replace(self, inputs=inputs, outputs=outputs)


def batch_of(command: Message) -> Write | None:
    """The batch write that a command asks for, if it does."""
    kind = command.WhichOneof("command_type")
    if kind not in _BATCH:
        return None
    write = getattr(command, kind)
    table = write.table_name if kind == "write_operation_v2" else write.table.table_name
    path = getattr(write, "path", "")
    return _write(write, path, table)


def stream_of(command: Message) -> Write | None:
    """The streaming query that a command starts, if it does."""
    if command.WhichOneof("command_type") != "write_stream_operation_start":
        return None
    write = command.write_stream_operation_start
    return _write(write, write.path, write.table_name)


def is_bounded(command: Message) -> bool:
    """Whether the query that a command starts ends by itself."""
    return command.write_stream_operation_start.WhichOneof("trigger") in _BOUNDED


def stopped_by(command: Message) -> str | None:
    """The run of the query that a command stops, if it does."""
    if command.WhichOneof("command_type") != "streaming_query_command":
        return None
    asked = command.streaming_query_command
    return str(asked.query_id.run_id) if asked.WhichOneof("command") == "stop" else None


def _write(write: Message, path: str, table: str) -> Write:
    options = _options(write.options)
    outputs = naming.from_options({**options, "path": path} if path else options)
    inputs, tables = list[Dataset](), list[str]([table] if table else [])
    for read in _reads(write.input):
        if read.WhichOneof("read_type") == "named_table":
            tables.append(str(read.named_table.unparsed_identifier))
        else:
            inputs.extend(_source(read.data_source))
    return Write(tuple(dict.fromkeys(inputs)), outputs, tuple(dict.fromkeys(tables)), table)


def _source(source: Message) -> Iterator[Dataset]:
    options = _options(source.options)
    if "kafka.bootstrap.servers" in options:
        yield from naming.topics(options)
    elif "url" in options:
        yield from naming.from_options(options)
    else:
        places = [*source.paths] or ([options["path"]] if "path" in options else [])
        yield from (naming.location(str(place)) for place in places)


def _options(options: Message) -> dict[str, str]:
    return {str(key).lower(): str(value) for key, value in options.items()}


def _reads(plan: Message) -> Iterator[Message]:
    """Every leaf of a plan that reads something, wherever it is nested."""
    pending = [plan]
    while pending:
        message = pending.pop()
        if message.DESCRIPTOR.full_name == _READ:
            yield message
            continue
        for field, value in message.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            pending.extend([value] if hasattr(value, "ListFields") else value)
