"""Finds the job, dataset or column of a node id, in a few statements however many colons it has.

Only the store can tell where a namespace ends. The namespaces that exist among all that a node id
can begin with are read first, then the names within these.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from headwater.errors import TooManySplits
from headwater.openlineage.events import MAX_NAME
from headwater.openlineage.names import NodeId
from headwater.server.lineage.scope import Scope
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Row, Session, batched

_LONGEST = MAX_NAME + 256  # characters of a namespace, which a rule may lengthen, or of a name
_MOST = 4096  # splits of a column's node id that are looked up
_TOGETHER = 1024  # names in one statement, a power of two
_NAMESPACES = "SELECT name, id FROM namespace WHERE name = ANY(?)"
# A cross join makes SQLite begin with the values; with IN it would scan the table.
_DATASETS = (
    "SELECT d.namespace, d.name, d.id, d.root FROM (VALUES {}) AS v "
    "CROSS JOIN dataset d JOIN dataset r ON r.id = d.root "
    "WHERE d.namespace = v.column1 AND d.name = v.column2 AND NOT r.hidden AND d.created_at <= ?"
)
_JOBS = (
    "SELECT j.namespace, j.name, j.id FROM (VALUES {}) AS v CROSS JOIN job j "
    "WHERE j.namespace = v.column1 AND j.name = v.column2 AND NOT j.hidden AND j.created_at <= ?"
)

_Name = tuple[int, str]  # the id of a namespace, and a name within it
_Split = tuple[int, int]  # where the namespace and the dataset of a column end


class NodeLookup:
    """Looks up node ids in the store at one moment, in the namespaces of a scope."""

    __slots__ = ("_at", "_rules", "_scope", "_session")

    def __init__(self, session: Session, rules: AliasRules, at: int, scope: Scope) -> None:
        self._session, self._rules, self._at, self._scope = session, rules, at, scope

    def find_dataset(self, node: NodeId) -> Row | None:
        """The id and the present root of a dataset."""
        return self._find_first(_DATASETS, node, self._rules.resolve)

    def find_job(self, node: NodeId) -> Row | None:
        """The id of a job."""
        return self._find_first(_JOBS, node, str)

    def datasets_at(self, text: str, cuts: Iterable[int]) -> list[Row]:
        """The ids and present roots of the datasets that a text means, cut in some ways."""
        return [*self._find(_DATASETS, [(text, cut) for cut in cuts], self._rules.resolve)]

    def jobs_at(self, text: str, cuts: Iterable[int]) -> list[Row]:
        """The ids of the jobs that a text means, cut in some ways."""
        return [*self._find(_JOBS, [(text, cut) for cut in cuts], str)]

    def find_field(self, node: NodeId) -> tuple[Row, str] | None:
        """The id and root of a column's dataset, and the column; the longest dataset name counts.

        Raises: TooManySplits.
        """
        text = node.rest
        colons = [i for i, c in enumerate(text) if c == ":" and 0 < i < len(text) - 1]
        known = self._known((text[:i] for i in colons if i <= _LONGEST), self._rules.resolve)
        starts = [i for i in colons if i <= _LONGEST and text[:i] in known]
        splits = [*islice(_splits(starts, colons), _MOST + 1)]
        if len(splits) > _MOST:
            raise TooManySplits(len(colons))
        names = {
            (start, end): (known[text[:start]], text[start + 1 : end]) for start, end in splits
        }
        rows = self._rows(_DATASETS, names.values())
        existing = {split: rows[name] for split, name in names.items() if name in rows}
        if not existing:
            return None
        end = max(end for _, end in existing)
        cuts = NodeId(node.kind, text[:end], None).cuts()
        start = next(cut for cut in cuts if (cut, end) in existing)
        return existing[start, end], text[end + 1 :]

    def _find_first(self, sql: str, node: NodeId, resolve: Callable[[str], str]) -> Row | None:
        """The row of the likeliest split that leads to one; of the text with its version first."""
        texts = (node.whole, node) if node.version else (node,)
        cuts = [(text.rest, cut) for text in texts for cut in text.cuts() if _fits(text.rest, cut)]
        return next(self._find(sql, cuts, resolve), None)

    def _find(
        self, sql: str, cuts: list[tuple[str, int]], resolve: Callable[[str], str]
    ) -> Iterator[Row]:
        """The rows that texts, each cut into a namespace and a name, lead to; in order."""
        known = self._known((text[:cut] for text, cut in cuts), resolve)
        existing = ((text, cut) for text, cut in cuts if text[:cut] in known)
        names = [(known[text[:cut]], text[cut + 1 :]) for text, cut in existing]
        rows = self._rows(sql, names)
        return (rows[name] for name in names if name in rows)

    def _known(
        self, namespaces: Iterable[str], resolve: Callable[[str], str]
    ) -> dict[str, int]:  # fmt: skip
        """The ids of those namespaces that exist."""
        resolved = {namespace: resolve(namespace) for namespace in namespaces}
        resolved = {given: name for given, name in resolved.items() if self._scope.covers(name)}
        if not resolved:
            return {}
        ids: dict[str, int] = dict(self._session.all(_NAMESPACES, [*{*resolved.values()}]))
        return {given: ids[name] for given, name in resolved.items() if name in ids}

    def _rows(self, sql: str, names: Iterable[_Name]) -> dict[_Name, Row]:
        """What is stored under names."""
        found: dict[_Name, Row] = {}
        for part in batched([*dict.fromkeys(names)], _TOGETHER):
            # Filled up to a power of two, so that few statements are prepared.
            count = 1 << (len(part) - 1).bit_length()
            values = [value for name in part for value in name]
            values += part[-1] * (count - len(part))
            places = ", ".join(["(?, ?)"] * count)
            rows = self._session.all(sql.format(places), *values, self._at)
            found |= {(row[0], row[1]): row[2:] for row in rows}
        return found


def _fits(text: str, cut: int) -> bool:
    """Whether both sides of a cut are short enough to be stored."""
    return cut <= _LONGEST and len(text) - cut - 1 <= _LONGEST


def _splits(starts: list[int], colons: list[int]) -> Iterator[_Split]:
    """Where a namespace and a dataset may end, given where an existing namespace does."""
    for start in starts:
        for end in colons:
            if start + 1 < end <= start + 1 + _LONGEST:
                yield start, end
