"""Names of things: datasets, jobs, fields, and the node ids that the lineage API speaks."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


def dataset_id(namespace: str, name: str) -> str:
    """The node id of a dataset."""
    return f"dataset:{namespace}:{name}"


def job_id(namespace: str, name: str) -> str:
    """The node id of a job."""
    return f"job:{namespace}:{name}"


class DatasetName(NamedTuple):
    """A dataset's namespace and its name there."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return dataset_id(self.namespace, self.name)


class JobName(NamedTuple):
    """A job's namespace and its name there."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return job_id(self.namespace, self.name)


class FieldName(NamedTuple):
    """One column of a dataset."""

    namespace: str
    dataset: str
    field: str

    def __str__(self) -> str:
        return f"datasetField:{self.namespace}:{self.dataset}:{self.field}"


class NodeKind(StrEnum):
    """The first word of a node id."""

    DATASET = "dataset"
    JOB = "job"
    FIELD = "datasetField"
    RUN = "run"


_KINDS = frozenset(NodeKind)


class NodeId(NamedTuple):
    """A node id, taken apart as far as its text alone allows.

    Namespaces and names hold colons unescaped, so that only the store can tell where one
    ends: `splits` gives every way to cut the rest.
    """

    kind: NodeKind
    rest: str
    version: str | None

    @classmethod
    def parse(cls, text: str) -> "NodeId | None":
        """Read a node id; None when it does not begin as one."""
        word, colon, rest = text.partition(":")
        if not colon or not rest or word not in _KINDS:
            return None
        version = None
        head, hash_, tail = rest.rpartition("#")
        if hash_ and len(tail) == 36 and tail.count("-") == 4:
            rest, version = head, tail
        return cls(NodeKind(word), rest, version)

    def splits(self) -> Iterator[tuple[str, str]]:
        """Every way to cut the rest into a namespace and a name, likeliest first."""
        for cut in self.cuts():
            yield self.rest[:cut], self.rest[cut + 1 :]

    def cuts(self) -> list[int]:
        """The colons at which the namespace may end, likeliest first.

        A namespace is mostly a URI with an authority (`kafka://host:9092`) or a plain word,
        so that cuts right after the authority, or at the first colon, come before others.
        """
        cuts = [i for i, c in enumerate(self.rest) if c == ":" and 0 < i < len(self.rest) - 1]
        scheme = self.rest.find("://")
        if scheme >= 0:
            after = [i for i in cuts if i > scheme]
            has_port = len(after) > 1 and self.rest[after[0] + 1 : after[1]].isdigit()
            unlikely = {scheme, after[0]} if has_port else {scheme}
            cuts.sort(key=lambda cut: (cut in unlikely, -cut if cut in unlikely else cut))
        return cuts

    @property
    def whole(self) -> "NodeId":
        """The node id of something whose name ends like a version."""
        return (
            self if self.version is None else NodeId(self.kind, f"{self.rest}#{self.version}", None)
        )
