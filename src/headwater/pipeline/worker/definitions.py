"""What a worker knows of a connector when nothing runs."""

import uuid
from collections.abc import Mapping

import msgspec

from headwater.openlineage.masking import masked
from headwater.pipeline.states import State


class Definition(msgspec.Struct, frozen=True):
    """A connector as it was deployed, and the state it should be in.

    Its life names its checkpoints. It outlives the connector: one that is deployed again under
    the name goes on where the old one ended, as in Kafka Connect.
    """

    name: str
    config: dict[str, str]
    target: State = State.RUNNING
    life: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    offsets: list[dict[str, object]] = []
    starts: dict[str, dict[int, int]] = {}
    deleted: bool = False

    def shown(self) -> dict[str, str]:
        """The configuration as others may see it."""
        return {**masked(self.config), "name": self.name}

    def changed(self, **fields: object) -> "Definition":
        """The same connector with some fields changed."""
        return msgspec.structs.replace(self, **fields)

    def reborn(self, starts: dict[str, dict[int, int]] | None = None) -> "Definition":
        """The same connector without a past, beginning anew or at given offsets."""
        return self.changed(life=uuid.uuid4().hex, offsets=[], starts=starts or {})


def encode(definition: Definition) -> bytes:
    """A definition as it is kept."""
    return msgspec.json.encode(definition)


def decode_all(documents: Mapping[str, bytes]) -> dict[str, Definition]:
    """Definitions as they were kept, by name."""
    found = (msgspec.json.decode(one, type=Definition) for one in documents.values())
    return {one.name: one for one in found}
