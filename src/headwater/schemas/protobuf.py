"""From a schema as the registry keeps it to descriptors, which a node of a cluster can take."""

import base64
import binascii
import functools
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.type import date_pb2, datetime_pb2, dayofweek_pb2, money_pb2, timeofday_pb2

from headwater.errors import BadSchema
from headwater.schemas.registry import HEADER, Schema

ROOT = "value.proto"
_TIMEOUT_S = 60
# What every schema may import without a reference; those that others import come first.
_KNOWN: tuple[ModuleType, ...] = (
    *(any_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2),
    *(timestamp_pb2, wrappers_pb2, date_pb2, dayofweek_pb2, money_pb2, timeofday_pb2),
    *(datetime_pb2, meta_pb2, decimal_pb2),
)


def compiled(schema: Schema) -> bytes:
    """A schema and all that it imports, as a set of descriptors whose last file is the schema.

    Raises:
        BadSchema: the text is no Protobuf schema, or imports what is nowhere.

    """
    references = tuple(sorted(schema.references.items()))
    return _compiled(schema.id, schema.text, references)


@functools.lru_cache(maxsize=256)
def messages(descriptors: bytes) -> tuple[Descriptor, ...]:
    """The messages of a schema in their order, which a record's header counts by."""
    pool = DescriptorPool()
    files = FileDescriptorSet.FromString(descriptors).file
    for one in files:
        pool.Add(one)
    found = pool.FindFileByName(files[-1].name)
    return tuple(found.message_types_by_name[one.name] for one in files[-1].message_type)


def index_of(record: bytes, at: int = HEADER) -> tuple[list[int], int]:
    """Which message of its schema a record is, as a path, and where the message begins."""
    count, at = _zigzag(record, at)
    path = []
    for _ in range(count):
        one, at = _zigzag(record, at)
        path.append(one)
    return path or [0], at


@functools.lru_cache(maxsize=256)
def _compiled(schema_id: int, text: str, references: tuple[tuple[str, str], ...]) -> bytes:
    sources = {**dict(references), ROOT: text}
    ready = {name: file for name, one in sources.items() if (file := _serialized(name, one))}
    texts = {name: one for name, one in sources.items() if name not in ready}
    found = {file.name: file for file in (*_known(), *ready.values())}
    if texts:
        found |= _protoc(schema_id, texts, list(found.values()))
    ordered: dict[str, FileDescriptorProto] = {}
    try:
        _collect(found, ROOT, ordered)
    except KeyError as error:
        raise BadSchema(
            f"with id {schema_id}", f"it imports {error.args[0]}, which is nowhere"
        ) from error
    return bytes(FileDescriptorSet(file=ordered.values()).SerializeToString())


def _known() -> list[FileDescriptorProto]:
    return [FileDescriptorProto.FromString(one.DESCRIPTOR.serialized_pb) for one in _KNOWN]


def _serialized(name: str, text: str) -> FileDescriptorProto | None:
    """A schema that its producer registered as a descriptor in base64, not as text."""
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, DecodeError, ValueError):
        return None
    file.name = name
    return file


def _protoc(
    schema_id: int, texts: Mapping[str, str], known: list[FileDescriptorProto]
) -> dict[str, FileDescriptorProto]:
    # In a process of its own: the compiler tells what is wrong only on its standard error.
    with tempfile.TemporaryDirectory(prefix="headwater-protoc-") as folder:
        place = Path(folder)
        for name, text in texts.items():
            path = place / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (place / "known").write_bytes(FileDescriptorSet(file=known).SerializeToString())
        command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={place / 'in'}"]
        command += [f"--descriptor_set_in={place / 'known'}", "--include_imports"]
        command += [f"--descriptor_set_out={place / 'out'}", *texts]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        if done.returncode:
            raise BadSchema(f"with id {schema_id}", _reason(done.stderr, place))
        files = FileDescriptorSet.FromString((place / "out").read_bytes()).file
    return {file.name: file for file in files}


def _reason(told: str, place: Path) -> str:
    lines = [line for line in told.splitlines() if ".proto:" in line and "] " not in line]
    return " ".join(lines or [told]).replace(f"{place / 'in'}/", "")[:500].strip()


def _collect(
    found: Mapping[str, FileDescriptorProto], name: str, ordered: dict[str, FileDescriptorProto]
) -> None:
    for one in found[name].dependency:
        if one not in ordered:
            _collect(found, one, ordered)
    ordered[name] = found[name]


def _zigzag(record: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = record[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
