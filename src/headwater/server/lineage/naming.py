"""Which names were one dataset at a moment, and by which of them it was shown.

Names are joined by symlinks that events tell, each since some time. Looking back, only the
links and ranks of that time count; for a dataset with one name nothing has to be worked out.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.openlineage.names import DatasetName, NodeId
from headwater.server.lineage.view import Schema, StoreView


class _Member(NamedTuple):
    id: int
    created_at: int
    named_at: int
    declared_at: int
    namespace: str
    name: str

    def precedence(self, at: int) -> tuple[int, int, str, str]:
        """What decides which name is shown; the same as when it is stored (store.aliases)."""
        rank = 0 if self.declared_at <= at else 1 if self.named_at <= at else 2
        return rank, self.created_at, self.namespace, self.name


class Naming:
    """The names of datasets at the moment of a view; `root` is the name that was shown."""

    def __init__(self, view: StoreView) -> None:
        self._view, self._at = view, view.at
        self._root: dict[int, int | None] = {}
        self._members: dict[int, list[int]] = {}
        self._names: dict[int, DatasetName] = {}
        self._hidden: set[int] = set()

    def roots(self, members: Iterable[int]) -> dict[int, int]:
        """The roots of those names that existed."""
        wanted = set(members)
        self._load([m for m in wanted if m not in self._root])
        return {m: root for m in wanted if (root := self._root[m]) is not None}

    def shown(self, members: Iterable[int]) -> dict[int, int]:
        """The roots of names that existed, without datasets that are hidden."""
        return {m: root for m, root in self.roots(members).items() if root not in self._hidden}

    def members(self, roots: Iterable[int]) -> dict[int, int]:
        """Every name of some datasets, with its root."""
        wanted = set(roots)
        self._load([r for r in wanted if r not in self._root])
        return {m: root for root in wanted for m in self._members.get(root, ())}

    def name(self, root: int) -> DatasetName:
        """The name of a dataset."""
        return self._names[root]

    def node_id(self, root: int) -> str:
        """The node id of a dataset."""
        return str(self._names[root])

    def dataset_id(self, namespace: str, name: str) -> int | None:
        """The dataset that went by a name."""
        rows = self._view.session.all(
            "SELECT d.id FROM dataset d JOIN namespace n ON n.id = d.namespace "
            "WHERE n.name = ? AND d.name = ?", self._view.rules.resolve(namespace), name,
        )  # fmt: skip
        return next(iter(self.shown([row[0] for row in rows]).values()), None)

    def find_dataset(self, node: NodeId) -> int | None:
        """The dataset of a node id, wherever its namespace ends."""
        return node.find(self.dataset_id)

    def find_job(self, node: NodeId) -> int | None:
        """The job of a node id, if there was one."""
        found = self._view.find_job(node)
        if found is None:
            return None
        rows = self._view.session.all("SELECT created_at FROM job WHERE id = ?", found)
        return found if rows[0][0] <= self._at else None

    def find_field(self, node: NodeId) -> tuple[int, str] | None:
        """The dataset and field of a node id; the longest dataset name that fits is meant."""
        rest, cut = node.rest, len(node.rest)
        while (cut := rest.rfind(":", 0, cut)) > 0:
            dataset = self.find_dataset(NodeId(node.kind, rest[:cut], None))
            if dataset is not None and rest[cut + 1 :]:
                return dataset, rest[cut + 1 :]
        return None

    def _load(self, ids: list[int]) -> None:
        if not ids:
            return
        self._root.update(dict.fromkeys(ids))
        rows = self._view.session.all(
            "SELECT d.root, r.hidden, d.id, d.created_at, d.named_at, d.declared_at, n.name, "
            "d.name FROM dataset d "
            "JOIN dataset r ON r.id = d.root JOIN namespace n ON n.id = d.namespace "
            "WHERE d.root IN (SELECT x.root FROM dataset x WHERE x.id = ANY(?))", ids,
        )  # fmt: skip
        together: dict[int, dict[int, _Member]] = {}
        for root, hidden, *member in rows:
            told = _Member(*member)
            together.setdefault(root, {})[told.id] = told
            if hidden:
                self._hidden.add(told.id)
        several = [m for members in together.values() if len(members) > 1 for m in members]
        links = self._links(several)
        for members in together.values():
            known = {number: m for number, m in members.items() if m.created_at <= self._at}
            for part in _parts(known, links):
                self._keep(part)

    def _links(self, members: list[int]) -> dict[int, list[int]]:
        if not members:
            return {}
        rows = self._view.session.all(
            "SELECT a, b FROM alias WHERE since <= ? AND a = ANY(?)", self._at, members
        )
        links: dict[int, list[int]] = {}
        for a, b in rows:
            links.setdefault(a, []).append(b)
            links.setdefault(b, []).append(a)
        return links

    def _keep(self, part: list[_Member]) -> None:
        root = min(part, key=lambda m: m.precedence(self._at))
        self._names[root.id] = DatasetName(root.namespace, root.name)
        self._members[root.id] = [member.id for member in part]
        self._root.update({member.id: root.id for member in part})


def _parts(members: dict[int, _Member], links: dict[int, list[int]]) -> list[list[_Member]]:
    """Names that are joined, directly or through others, together."""
    parts, seen = list[list[_Member]](), set[int]()
    for start, member in members.items():
        if start in seen:
            continue
        seen.add(start)
        part, todo = [member], [start]
        while todo:
            for other in links.get(todo.pop(), ()):
                if other in members and other not in seen:
                    seen.add(other)
                    part.append(members[other])
                    todo.append(other)
        parts.append(part)
    return parts


def schemas_then(view: StoreView, naming: Naming, roots: Iterable[int]) -> dict[int, Schema]:
    """The schemas of datasets at the moment: as written, else as read."""
    members = naming.members(roots)
    rows = view.session.all(
        "SELECT s.dataset, s.io, s.since, c.digest, s.schema FROM schema_span s "
        "JOIN schema c ON c.id = s.schema WHERE s.dataset = ANY(?) AND s.since <= ? "
        "AND s.until > ?", [*members], view.at, view.at,
    )  # fmt: skip
    best: dict[int, tuple[int, int, bytes, int]] = {}
    for dataset, io, since, digest, schema in rows:
        root, found = members[dataset], (io, since, bytes(digest), schema)
        best[root] = max(best.get(root, found), found)
    schemas = view.schemas({told[3] for told in best.values()})
    return {root: schemas[told[3]] for root, told in best.items()}
