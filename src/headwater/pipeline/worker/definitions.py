"""What a worker keeps of a connector: its configuration, and where its tasks' progress is."""

import re
import uuid
from typing import Any

import msgspec

from headwater.errors import BadConfig, StateUnreadable
from headwater.openlineage.masking import masked
from headwater.pipeline.states import State

# How many moves of a task that has not begun yet are remembered.
_DEPTH = 8
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class TaskRecord(msgspec.Struct, frozen=True):
    """Where a task's checkpoint is, and where it begins while there is nothing in that."""

    checkpoint: str
    starts: dict[int, int] | None = None
    origin: "Origin | None" = None


class Origin(msgspec.Struct, frozen=True):
    """The task whose progress another one takes over."""

    key: str
    record: TaskRecord

    def shortened(self, depth: int = _DEPTH) -> "Origin":
        """The same without what was long ago."""
        before = self.record.origin
        kept = before.shortened(depth - 1) if before is not None and depth > 1 else None
        return Origin(self.key, msgspec.structs.replace(self.record, origin=kept))


class Definition(msgspec.Struct, frozen=True):
    """A connector as it was deployed, and the state it should be in.

    The records of its tasks outlive the connector: one that is deployed again under the name goes
    on where the old one ended, as in Kafka Connect. The configuration does not.
    """

    name: str
    config: dict[str, str]
    target: State = State.RUNNING
    generation: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    tasks: dict[str, TaskRecord] = {}
    # Targets that another connector has taken over, with its name.
    ceded: dict[str, str] = {}
    deleted: bool = False

    def shown(self) -> dict[str, str]:
        """The configuration as others may see it."""
        return {**masked(self.config), "name": self.name}

    def changed(self, **fields: object) -> "Definition":
        """The same connector with some fields changed."""
        return msgspec.structs.replace(self, **fields)


class OldDefinition(msgspec.Struct, frozen=True):
    """A definition as the version before this one kept it: without records of its tasks."""

    name: str
    config: dict[str, str]
    life: str
    target: State = State.RUNNING
    starts: dict[str, dict[int, int]] = {}
    deleted: bool = False


def check_name(name: str) -> None:
    """See that a name is one that Kafka Connect takes, and that an address can have.

    Raises:
        BadConfig: it is empty, has control characters, or is a dot or two.

    """
    if not name.strip():
        raise BadConfig(name or "''", {"name": "is empty"})
    if name in (".", ".."):
        raise BadConfig(name, {"name": "cannot be part of an address"})
    if name != name.strip() or _CONTROL.search(name):
        reason = "has control characters, or spaces at its ends"
        raise BadConfig(_CONTROL.sub("?", name), {"name": reason})


def encode(definition: Definition) -> bytes:
    """A definition as it is kept."""
    return msgspec.json.encode(definition)


def decode(file: str, document: bytes) -> Definition | OldDefinition:
    """A definition as it was kept, by this version or one before.

    Raises:
        StateUnreadable: it is of a later version, or damaged.

    """
    try:
        fields: dict[str, Any] = msgspec.json.decode(document, type=dict[str, Any])
        if "life" not in fields:
            return msgspec.convert(fields, Definition, strict=False)
        return msgspec.convert(fields, OldDefinition, strict=False)
    except msgspec.MsgspecError as error:
        raise StateUnreadable(file, str(error)) from error
