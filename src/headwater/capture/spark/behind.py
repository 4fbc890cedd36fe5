"""Finds what is behind rows that a plan begins with: plans before a cut, micro-batches, files."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import Dataset
from headwater.capture.datasets.trimming import Trimmer, trim
from headwater.capture.plan import PlanLineage
from headwater.capture.plan.cuts import any_of, placed, renamed, through_code
from headwater.capture.plan.lineage import Note, Relation
from headwater.capture.plan.reader import Ids
from headwater.capture.plan.sources import Source
from headwater.capture.spark.described import Described
from headwater.capture.spark.handovers import Handovers, Roots
from headwater.capture.spark.jvm import Java, class_name
from headwater.capture.spark.leaves import Leaves, ids_of

_HOLDS_ROWS = frozenset({"LogicalRDD", "ExternalRDD", "LocalRelation"})
_ANY_COLLECTED = Note(
    "opaque", "a frame of pandas or Arrow, which may be made from fewer of the collected frames"
)
_Output = tuple[tuple[int, str], ...]


class Behind:
    """What is behind the leaves of plans and behind RDDs, as far as it was seen."""

    def __init__(self, handovers: Handovers, leaves: Leaves, trimmers: tuple[Trimmer, ...]) -> None:
        self._handovers, self._leaves, self._trimmers = handovers, leaves, trimmers

    def leaves(self, plan: Java, handed: Mapping[Ids, Described]) -> dict[Ids, Described]:
        """What is behind each leaf that holds rows; `handed` are micro-batches by their ids."""
        leaves = {(ids, key): leaf for ids, key, leaf in self._holding_rows(plan)}
        # A join with itself reads a micro-batch under two names, of which one is its own.
        batches = {key: handed[ids] for ids, key in leaves if ids in handed}
        found: dict[Ids, list[Described]] = {}
        for (ids, key), leaf in leaves.items():
            described = self._leaf(leaf, key, batches.get(key))
            if described is not None:
                found.setdefault(ids, []).append(described)
        return {ids: _any_of(several) for ids, several in found.items()}

    def rdd(self, rdd: Java) -> Described:
        """What an RDD is made from."""
        return self._of_roots(self._handovers.roots(rdd), ())

    def _holding_rows(self, plan: Java) -> Iterator[tuple[Ids, str, Java]]:
        for leaf in self._leaves.all(plan):
            if class_name(leaf) in _HOLDS_ROWS:
                yield ids_of(leaf), self._handovers.key(leaf), leaf

    def _leaf(self, leaf: Java, key: str, batch: Described | None) -> Described | None:
        same = self._handovers.unchanged(key) or batch
        if same is not None:
            return _renamed(same, _output(leaf))
        handed = self._handovers.through_python(key)
        if handed is not None and (parts := handed.described()):
            notes = () if handed.is_certain else (_ANY_COLLECTED,)
            return _through_code(parts, _output(leaf), "pandas", notes)
        if class_name(leaf) == "LocalRelation":
            return None
        roots = self._handovers.roots(leaf.rdd())
        if not roots.rows and not roots.places:
            return None
        return self._of_roots(roots, _output(leaf))

    def _of_roots(self, roots: Roots, output: _Output) -> Described:
        parts = [*roots.rows]
        if roots.places:
            parts.append(_files(trim(map(naming.location, roots.places), self._trimmers)))
        unknown = (Note("unknown", f"rows of an RDD ({kind})") for kind in roots.unknown)
        return _through_code(parts, output, "an RDD", unknown)


def reduced(described: Described) -> Described:
    """The same with one source for each dataset: a loop reads its tables again and again."""
    lineage = described.lineage
    sources: list[Source] = []
    datasets: list[tuple[Dataset, ...]] = []
    places = []
    for index, source in enumerate(lineage.sources):
        read = described.datasets.get(index, ())
        place = _place(source, read, sources, datasets)
        if place == len(sources):
            sources.append(source)
            datasets.append(read)
        places.append(place)
    moved = placed(lineage, sources, places)
    return msgspec.structs.replace(described, lineage=moved, datasets=dict(enumerate(datasets)))


def datasets_in(described: Described, lineage: PlanLineage) -> dict[int, tuple[Dataset, ...]]:
    """The datasets of a query by the places of its sources in a lineage that adopted them."""
    sources = list(lineage.sources)
    return {
        sources.index(described.lineage.sources[index]): datasets
        for index, datasets in described.datasets.items()
    }


def _place(
    source: Source,
    read: tuple[Dataset, ...],
    sources: list[Source],
    datasets: list[tuple[Dataset, ...]],
) -> int:
    """The place of a source among others, or of one that reads the same."""
    for place, other in enumerate(sources):
        if read and datasets[place] == read and other.fields == source.fields:
            return place
    return len(sources)


def _output(leaf: Java) -> _Output:
    return tuple(zip(ids_of(leaf), map(str, leaf.schema().fieldNames()), strict=True))


def _renamed(described: Described, output: _Output) -> Described | None:
    lineage = renamed(described.lineage, output)
    return msgspec.structs.replace(described, lineage=lineage) if lineage is not None else None


def _through_code(
    parts: list[Described], output: _Output, code: str, unknown: Iterable[Note] = ()
) -> Described:
    lineage = through_code((part.lineage for part in parts), output, code, unknown)
    return _joined(lineage, parts)


def _any_of(parts: list[Described]) -> Described:
    if len(parts) == 1:
        return parts[0]
    return _joined(any_of([part.lineage for part in parts]), parts)


def _joined(lineage: PlanLineage, parts: list[Described]) -> Described:
    datasets: dict[int, tuple[Dataset, ...]] = {}
    for part in parts:
        datasets |= datasets_in(part, lineage)
    return Described(lineage, datasets, runs=frozenset[str]().union(*(p.runs for p in parts)))


def _files(files: tuple[Dataset, ...]) -> Described:
    """Files whose records no plan has as columns."""
    names = "\n".join(sorted(str((*one.key, one.locations)) for one in files))
    source = Source("files", (), (), table=names)
    return Described(PlanLineage((source,), Relation(())), {0: files})
