"""Looks up what a name may mean: the jobs, datasets and columns that are called so.

Each is found at a level: how well its name fits the text.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from headwater.openlineage.kinds import DatasetKind, dataset_kind, is_catalog
from headwater.openlineage.names import DatasetName, FieldName, JobName
from headwater.server.lineage.columns import ColumnWalk
from headwater.server.lineage.matching import DATASETS, FIELDS, JOBS, closeness, ending, matches
from headwater.server.lineage.schemas import unlisted_by_name
from headwater.server.lineage.view import StoreView

Covers = Callable[[str], bool]  # whether a namespace may be shown
_PARTS = 200  # names that hold the text and are looked through
_COLUMNS = 500  # columns of one name
_LONGEST = 400  # characters of a text that is looked for inside names
_CUTS = 16  # ways to cut a text into a namespace and a name, or a dataset and a column


class Level(IntEnum):
    """How well a name fits a text; the least is the best."""

    EXACT = 0  # the whole name
    TABLE = 1  # the name of a table without its schema: `orders` in `default.orders`
    SAME_LETTERS = 2  # but for upper and lower case
    LAST_PART = 3  # `orders` in `archive/orders`
    BEGINNING = 4
    WORD = 5
    PART = 6


class Candidate(NamedTuple):
    """Something that a name may mean, before anything else is known of it."""

    level: Level
    type: str  # JOB, DATASET or COLUMN
    id: int  # of a job, or of a dataset's root
    field: str = ""


class Shown(NamedTuple):
    """What is known of a job or dataset that a name may mean."""

    namespace: str
    name: str
    updated_at: int
    kind: str

    def node_id(self, candidate: Candidate) -> str:
        """The id under which the candidate is shown."""
        if candidate.type == "JOB":
            return str(JobName(self.namespace, self.name))
        if candidate.type == "COLUMN":
            return str(FieldName(self.namespace, self.name, candidate.field))
        return str(DatasetName(self.namespace, self.name))


class Lookup:
    """Finds the candidates of texts, among all of the view's namespaces that is not hidden."""

    def __init__(self, view: StoreView) -> None:
        self._view, self._covers = view, view.scope.covers
        self._walk = ColumnWalk(view)
        # With every namespace a name is looked up by the index on both.
        self._namespaces = view.scope.namespaces

    def jobs(self, text: str) -> Iterator[Candidate]:
        """Jobs with a name, by their whole name or the last part of it."""
        for job in self._view.jobs_at(text, _cuts(text)):
            yield Candidate(Level.EXACT, "JOB", job)
        rows = self._view.session.all(
            "SELECT id FROM job WHERE name = ? AND NOT hidden AND namespace = ANY(?)",
            text, self._namespaces,
        )  # fmt: skip
        yield from (Candidate(Level.EXACT, "JOB", int(row[0])) for row in rows)
        for job, _ in self._ending(JOBS, text):
            yield Candidate(Level.LAST_PART, "JOB", job)

    def datasets(self, text: str) -> Iterator[Candidate]:
        """Datasets with a name, by any of their names or the last part of one."""
        for root in self._view.datasets_at(text, _cuts(text)):
            yield Candidate(Level.EXACT, "DATASET", root)
        rows = self._view.session.all(
            "SELECT root FROM dataset WHERE name = ? AND namespace = ANY(?)",
            text, self._namespaces,
        )  # fmt: skip
        yield from (Candidate(Level.EXACT, "DATASET", int(row[0])) for row in rows)
        ids = [target for target, _ in self._ending(DATASETS, text)]
        for root, namespace in self._roots(ids):
            level = Level.TABLE if is_catalog(namespace) else Level.LAST_PART
            yield Candidate(level, "DATASET", root)

    def columns(self, text: str) -> Iterator[Candidate]:
        """Columns by their name, or with their dataset before it: `orders.price`."""
        rows = self._view.session.all("SELECT id FROM field_name WHERE name = ?", text)
        for root, field in self._having([int(row[0]) for row in rows]):
            yield Candidate(Level.EXACT, "COLUMN", root, field)
        for dataset, field in _column_cuts(text):
            for found in {*self.datasets(dataset)}:
                if self._walk.knows((found.id, field)):
                    yield Candidate(found.level, "COLUMN", found.id, field)

    def parts(self, text: str, types: Iterable[str]) -> Iterator[Candidate]:
        """Jobs, datasets and columns that have a text somewhere in their name."""
        if len(text) > _LONGEST:
            return
        if "JOB" in types:
            for match in matches(self._view, JOBS, text, _PARTS):
                yield Candidate(_level(text, match.name), "JOB", match.target)
        if "DATASET" in types:
            names = {m.target: m.name for m in matches(self._view, DATASETS, text, _PARTS)}
            for root, _, member in self._members([*names]):
                yield Candidate(_level(text, names[member]), "DATASET", root)
        if "COLUMN" in types:
            found = matches(self._view, FIELDS, text, _PARTS)
            levels = {match.name: _level(text, match.name) for match in found}
            for root, field in self._having([match.target for match in found]):
                yield Candidate(levels[field], "COLUMN", root, field)
            for dataset, field in _column_cuts(text):
                for one in {*self.parts(dataset, ["DATASET"])}:
                    if self._walk.knows((one.id, field)):
                        yield Candidate(one.level, "COLUMN", one.id, field)

    def shown(self, candidates: Iterable[Candidate]) -> dict[Candidate, Shown]:
        """What is known of candidates; those that are hidden are left out."""
        found = [*dict.fromkeys(candidates)]
        jobs = self._shown_jobs([one.id for one in found if one.type == "JOB"])
        datasets = self._shown_datasets([one.id for one in found if one.type != "JOB"])
        known = ((one, (jobs if one.type == "JOB" else datasets).get(one.id)) for one in found)
        return {one: shown for one, shown in known if shown is not None}

    def readers(self, roots: list[int]) -> dict[int, int]:
        """How many jobs read each dataset now."""
        rows = self._view.session.all(
            "SELECT d.root, count(DISTINCT e.job) FROM edge e JOIN dataset d ON d.id = e.dataset "
            "WHERE d.root = ANY(?) AND e.io = 0 AND e.since <= ? AND e.until > ? GROUP BY d.root",
            roots, self._view.at, self._view.at,
        )  # fmt: skip
        return {int(root): int(count) for root, count in rows}

    def _shown_jobs(self, ids: list[int]) -> dict[int, Shown]:
        rows = self._view.session.all(
            "SELECT j.id, n.name, j.name, j.updated_at FROM job j "
            "JOIN namespace n ON n.id = j.namespace WHERE j.id = ANY(?) AND NOT j.hidden", ids,
        )  # fmt: skip
        return {
            int(id_): Shown(space, name, at, "job")
            for id_, space, name, at in rows
            if self._covers(space)
        }

    def _shown_datasets(self, roots: list[int]) -> dict[int, Shown]:
        rows = self._view.session.all(
            "SELECT m.root, m.id, n.name, m.name, m.updated_at FROM dataset m "
            "JOIN dataset r ON r.id = m.root JOIN namespace n ON n.id = m.namespace "
            "WHERE m.root = ANY(?) AND NOT r.hidden", roots,
        )  # fmt: skip
        members: dict[int, list[tuple[int, str, str, int]]] = {}
        for root, *member in rows:
            members.setdefault(int(root), []).append((member[0], *member[1:]))
        found = {r: _shown_dataset(r, names, self._covers) for r, names in members.items()}
        return {root: shown for root, shown in found.items() if shown is not None}

    def _ending(self, kind: str, text: str) -> list[tuple[int, str]]:
        return ending(self._view, kind, text) if len(text) <= _LONGEST else []

    def _roots(self, ids: list[int]) -> list[tuple[int, str]]:
        return [(root, namespace) for root, namespace, _ in self._members(ids)]

    def _members(self, ids: list[int]) -> list[tuple[int, str, int]]:
        """The roots of names, and the namespaces that these names are in."""
        rows = self._view.session.all(
            "SELECT d.root, n.name, d.id FROM dataset d JOIN namespace n ON n.id = d.namespace "
            "WHERE d.id = ANY(?)", ids,
        )  # fmt: skip
        return [(int(root), namespace, int(id_)) for root, namespace, id_ in rows]

    def _having(self, fields: list[int]) -> list[tuple[int, str]]:
        """The datasets that have columns of some names."""
        if not fields:
            return []
        own, params = self._view.scope.has_dataset("m.root")
        rows = self._view.session.all(
            "SELECT DISTINCT m.root, f.name FROM field_name f JOIN schema_field sf "
            "ON sf.name = f.id JOIN schema_span s ON s.schema = sf.schema AND s.since <= ? "
            f"AND s.until > ? JOIN dataset m ON m.id = s.dataset WHERE f.id = ANY(?){own} LIMIT ?",
            self._view.at, self._view.at, fields, *params, _COLUMNS,
        )  # fmt: skip
        unlisted = unlisted_by_name(self._view, fields, _COLUMNS)
        return [*((int(root), field) for root, field in rows), *unlisted]


def _shown_dataset(
    root: int, names: list[tuple[int, str, str, int]], covers: Covers
) -> Shown | None:
    covered = [member for member in names if covers(member[1])]
    if not covered:
        return None
    shown, namespace, name, _ = min(covered, key=lambda m: (m[0] != root, m[1], m[2]))
    others = [member[1] for member in names if member[0] != shown]
    kind: DatasetKind = dataset_kind(namespace, name, others)
    return Shown(namespace, name, max(member[3] for member in names), kind)


def _level(text: str, name: str) -> Level:
    close = closeness(text.lower(), name)
    return (Level.SAME_LETTERS, Level.BEGINNING, Level.WORD, Level.PART)[close]


def _cuts(text: str) -> list[int]:
    """Where a text may be cut into a namespace and a name: `NS:NAME`, or a path below it."""
    return [i for i, c in enumerate(text) if c in ":/" and 0 < i < len(text) - 1][:_CUTS]


def _column_cuts(text: str) -> Iterator[tuple[str, str]]:
    """Every way to read a text as a dataset and a column, the last cut first."""
    cuts = [i for i, c in enumerate(text) if c in ".:" and 0 < i < len(text) - 1]
    for cut in cuts[: -_CUTS - 1 : -1]:
        yield text[:cut], text[cut + 1 :]
