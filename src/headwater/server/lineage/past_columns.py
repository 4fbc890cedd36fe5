"""Walks the lineage of columns as it was at a moment.

The walk is that of `columns`; what differs is that datasets go by the names they had then.
"""

from collections.abc import Iterable

from headwater.server.lineage.columns import Column, ColumnWalk
from headwater.server.lineage.naming import Naming, schemas_then
from headwater.server.lineage.view import IndexedMapping, StoreView
from headwater.server.lineage.walk import dataset_rows
from headwater.server.marquez import datasets

_HOLDS = (
    "(m.job = 0 OR (NOT j.hidden AND EXISTS (SELECT 1 FROM edge e WHERE e.job = m.job "
    "AND e.io = 1 AND e.dataset = m.dataset AND e.since <= ? AND e.until > ?)))"
)


class PastColumnWalk(ColumnWalk):
    """The columns in reach at the moment of a view, and the steps between them."""

    def __init__(self, view: StoreView, naming: Naming) -> None:
        super().__init__(view)
        self.naming = naming

    def _written_by(self, roots: set[int]) -> dict[int, IndexedMapping]:
        new = [root for root in roots if root not in self._writers]
        if new:
            self._load_writers(new)
        used = {m for root in roots for m, _ in self._writers[root]}
        return self._known(used, roots)

    def _load_writers(self, new: list[int]) -> None:
        members, at = self.naming.members(new), self._view.at
        rows = self._view.session.all(
            "SELECT m.dataset, m.mapping, m.job FROM mapping_span m "
            "LEFT JOIN job j ON j.id = m.job WHERE m.dataset = ANY(?) AND m.since <= ? "
            f"AND m.until > ? AND {_HOLDS}", [*members], at, at, at, at,
        )  # fmt: skip
        self._writers.update({root: [] for root in new})
        for member, mapping, job in rows:
            self._writers[members[member]].append((mapping, job))

    def _read_by(self, roots: set[int]) -> dict[int, IndexedMapping]:
        new = [root for root in roots if root not in self._readers]
        members, at = self.naming.members(new), self._view.at
        rows = self._view.session.all(
            "SELECT DISTINCT i.dataset, m.mapping, m.job, m.dataset FROM mapping_input i "
            "JOIN mapping_span m ON m.mapping = i.mapping AND m.since <= ? AND m.until > ? "
            f"LEFT JOIN job j ON j.id = m.job WHERE i.dataset = ANY(?) AND {_HOLDS}",
            at, at, [*members], at, at,
        )  # fmt: skip
        targets = self.naming.roots({row[3] for row in rows})
        self._readers.update({root: [] for root in new})
        for member, mapping, job, target in rows:
            found = (mapping, job, targets[target])
            if found not in self._readers[members[member]]:
                self._readers[members[member]].append(found)
        used = {m for root in roots for m, _, _ in self._readers[root]}
        reached = {t for root in roots for _, _, t in self._readers[root]}
        return self._known(used, roots | reached)

    def _known(self, mappings: set[int], roots: set[int]) -> dict[int, IndexedMapping]:
        found = self._view.mappings(mappings)
        members = {dataset for mapping in found.values() for dataset in mapping.inputs}
        self._roots.update(self.naming.roots(members))
        self.load_schemas(roots | {self._roots[member] for member in members})
        return found

    def load_schemas(self, roots: set[int]) -> None:
        """Have the schemas of datasets at hand."""
        new = [root for root in roots if root not in self._schemas]
        if new:
            self._schemas.update(dict.fromkeys(new))
            self._schemas.update(schemas_then(self._view, self.naming, new))

    def _members_of(self, root: int) -> list[int]:
        return [*self.naming.members([root])]

    def rows(self, roots: list[int]) -> dict[int, datasets.Row]:
        """Datasets under the names they had."""
        return dataset_rows(self._view, self.naming, roots)

    def columns_of(self, root: int) -> list[Column]:
        """The columns of a dataset, also those that only its readers name."""
        found = dict.fromkeys(self.outputs_of(root))
        for mapping in self._read_by({root}).values():
            for dataset, fed in mapping.fed_by.items():
                if self._roots[dataset] == root:
                    found.update(dict.fromkeys((root, field) for field in fed))
            whole = [g.field for g in mapping.dataset if self._roots[g.dataset] == root]
            found.update(dict.fromkeys((root, field) for field in whole))
        return [column for column in found if self._has(column)]

    def into(self, roots: Iterable[int]) -> None:
        """Take in every step into the columns of some datasets."""
        wanted = set(roots)
        self._written_by(wanted)
        self.upstream([column for root in sorted(wanted) for column in self.outputs_of(root)], 1)
