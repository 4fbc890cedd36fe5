"""Which names are one dataset at the moment of a view; a dataset goes by its root, the name shown.

Names are joined by symlinks that events report, each since some time. The store keeps the roots
of the present. Looking back, only the links and ranks of that time count; a dataset with one
name has been its own root at any time.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.openlineage.names import DatasetName
from headwater.server.lineage.scope import Scope
from headwater.server.store.database import Row, Session, batched

_TOGETHER = 8192  # names in one statement


def read_names(session: Session, ids: Iterable[int]) -> dict[int, DatasetName]:
    """Names of datasets by id; PostgreSQL's driver holds all of what it is asked for at once."""
    found: dict[int, DatasetName] = {}
    for part in batched([*ids], _TOGETHER):
        rows = session.all(
            "SELECT d.id, n.name, d.name FROM dataset d JOIN namespace n ON n.id = d.namespace "
            "WHERE d.id = ANY(?)", [*part],
        )  # fmt: skip
        found |= {row[0]: DatasetName(row[1], row[2]) for row in rows}
    return found


class Names:
    """The names of datasets as they are now.

    A statement finds the names `d` of some datasets by `condition`, whose parameter is `keys` of
    them, and turns the root that the store keeps of each into that of the moment by `resolve`.
    """

    condition = "d.root = ANY(?)"

    def __init__(self, session: Session, scope: Scope) -> None:
        self._session, self._scope = session, scope
        self._names: dict[int, DatasetName] = {}

    def keys(self, roots: Iterable[int]) -> list[int]:
        """The parameter of `condition` that stands for some datasets."""
        return [*roots]

    def resolve(self, members: dict[int, int]) -> dict[int, int]:
        """The roots at the moment of names that the store has under some roots now."""
        return members

    def roots_in(self, rows: Iterable[Row]) -> list[int]:
        """The roots at the moment of rows that begin with a name and its root in the store."""
        return [row[1] for row in rows]

    def members(self, roots: Iterable[int]) -> dict[int, int]:
        """Every name of some datasets, with its root."""
        sql = "SELECT id, root FROM dataset WHERE root = ANY(?)"
        return dict(self._session.all(sql, [*roots]))

    def roots(self, members: Iterable[int]) -> dict[int, int]:
        """The roots of some names."""
        wanted = [*members]
        if not wanted:
            return {}
        rows = self._session.all("SELECT id, root FROM dataset WHERE id = ANY(?)", wanted)
        return self.resolve(dict(rows))

    def shown(self, members: Iterable[int]) -> dict[int, int]:
        """The roots of some names, without datasets that are hidden."""
        rows = self._session.all(
            "SELECT d.id, d.root FROM dataset d JOIN dataset r ON r.id = d.root "
            "WHERE d.id = ANY(?) AND NOT r.hidden", [*members],
        )  # fmt: skip
        return self.resolve(dict(rows))

    def of(self, roots: Iterable[int]) -> dict[int, DatasetName]:
        """The names by which datasets are shown."""
        wanted = set(roots)
        missing = wanted - self._names.keys()
        if missing:
            self._names |= read_names(self._session, missing)
            self._names |= self._covered(missing)
        return {root: self._names[root] for root in wanted}

    def _covered(self, roots: set[int]) -> dict[int, DatasetName]:
        """Names in the view's namespaces, of datasets that others would see by another name."""
        other = {root for root in roots if not self._scope.covers(self._names[root].namespace)}
        if not other:
            return {}
        members = self.members(other)
        known = read_names(self._session, self._scope.own_names(members))
        found: dict[int, DatasetName] = {}
        for member, name in known.items():
            root = members[member]
            found[root] = min(found.get(root, name), name)
        return found

    def own(self, roots: Iterable[int]) -> set[int]:
        """Those of some datasets that have a name in the view's namespaces."""
        wanted = set(roots)
        if not self._scope.is_limited or not wanted:
            return wanted
        members = self.members(wanted)
        return {members[member] for member in self._scope.own_names(members)}


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


class PastNames(Names):
    """The names of datasets as they were at a moment."""

    condition = "d.id = ANY(?)"

    def __init__(self, session: Session, scope: Scope, at: int) -> None:
        super().__init__(session, scope)
        self._at = at
        self._loaded: set[int] = set()  # roots of the present
        self._root: dict[int, int] = {}  # of names whose dataset has several
        self._members: dict[int, list[int]] = {}

    def keys(self, roots: Iterable[int]) -> list[int]:
        """The parameter of `condition` that stands for some datasets: all their names."""
        return [*self.members(roots)]

    def resolve(self, members: dict[int, int]) -> dict[int, int]:
        """The roots at the moment of names that the store has under some roots now."""
        self._load({*members.values()} - self._loaded)
        return {member: self._root.get(member, member) for member in members}

    def roots_in(self, rows: Iterable[Row]) -> list[int]:
        """The roots at the moment of rows that begin with a name and its root in the store."""
        known = [*rows]
        resolved = self.resolve({row[0]: row[1] for row in known})
        return [resolved[row[0]] for row in known]

    def members(self, roots: Iterable[int]) -> dict[int, int]:
        """Every name of some datasets, with its root."""
        wanted = set(roots)
        unknown = wanted - self._loaded - self._members.keys()
        if unknown:
            self.roots(unknown)
        return {m: root for root in wanted for m in self._members.get(root, (root,))}

    def _load(self, roots: set[int]) -> None:
        if not roots:
            return
        self._loaded |= roots
        rows = self._session.all(
            "SELECT d.root, d.id, d.created_at, d.named_at, d.declared_at, n.name, d.name "
            "FROM dataset d JOIN namespace n ON n.id = d.namespace WHERE d.root IN "
            "(SELECT x.root FROM dataset x WHERE x.root = ANY(?) AND x.id <> x.root)", [*roots],
        )  # fmt: skip
        together: dict[int, dict[int, _Member]] = {}
        for root, *member in rows:
            together.setdefault(root, {})[member[0]] = _Member(*member)
        links = self._links([number for members in together.values() for number in members])
        for members in together.values():
            known = {number: m for number, m in members.items() if m.created_at <= self._at}
            for part in _connected(known, links):
                root = min(part, key=lambda member: member.precedence(self._at)).id
                self._members[root] = [member.id for member in part]
                self._root.update({member.id: root for member in part})

    def _links(self, members: list[int]) -> dict[int, list[int]]:
        if not members:
            return {}
        rows = self._session.all(
            "SELECT a, b FROM alias WHERE since <= ? AND a = ANY(?)", self._at, members
        )
        links: dict[int, list[int]] = {}
        for a, b in rows:
            links.setdefault(a, []).append(b)
            links.setdefault(b, []).append(a)
        return links


def _connected(members: dict[int, _Member], links: dict[int, list[int]]) -> list[list[_Member]]:
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
