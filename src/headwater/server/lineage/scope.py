"""What a view tells of: everything, or only the things of some namespaces.

This is the rule for keys with namespaces. A job or run is their own if its job's namespace is
covered, a dataset if the namespace of any of its names is. An edge is seen if one of its ends is
their own, so that what is next to their own things has a name, and what is further away is not
found. Questions ask here before they count, follow or name anything; how what is not their own is
written, by its name alone, is decided where answers are sent (`http.limited_answers`).
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from headwater.server.store.database import Session

Clause = tuple[str, list[Any]]  # a condition to append to a statement, and its parameters


class Scope:
    """The namespaces that begin with one of some texts; all, where there is no text."""

    def __init__(self, session: Session, prefixes: tuple[str, ...] = ()) -> None:
        self._session, self.prefixes = session, prefixes
        self.is_limited = bool(prefixes)

    def covers(self, namespace: str) -> bool:
        """Whether a namespace is one of them."""
        return not self.prefixes or namespace.startswith(self.prefixes)

    @cached_property
    def namespaces(self) -> list[int]:
        """The ids of the namespaces."""
        where, params = self.named("name")
        return [row[0] for row in self._session.all(f"SELECT id FROM namespace{where}", *params)]

    def named(self, column: str) -> Clause:
        """That a name is of one of the namespaces, as the whole condition of a statement."""
        told = " OR ".join(f"substr({column}, 1, {len(p)}) = ?" for p in self.prefixes)
        return (f" WHERE ({told})", [*self.prefixes]) if told else (" WHERE 1 = 1", [])

    def within(self, column: str) -> Clause:
        """That the id of a namespace is one of them."""
        return (f" AND {column} = ANY(?)", [self.namespaces]) if self.is_limited else ("", [])

    def has_job(self, column: str) -> Clause:
        """That the id of a job is one of theirs."""
        sql = f" AND {column} IN (SELECT id FROM job WHERE namespace = ANY(?))"
        return (sql, [self.namespaces]) if self.is_limited else ("", [])

    def has_name(self, column: str) -> Clause:
        """That the id of a name of a dataset is of one in the namespaces."""
        sql = f" AND {column} IN (SELECT id FROM dataset WHERE namespace = ANY(?))"
        return (sql, [self.namespaces]) if self.is_limited else ("", [])

    def has_dataset(self, column: str) -> Clause:
        """That the root of a dataset is one of theirs now, by any of its names."""
        sql = f" AND {column} IN (SELECT root FROM dataset WHERE namespace = ANY(?))"
        return (sql, [self.namespaces]) if self.is_limited else ("", [])

    def has_field(self, column: str) -> Clause:
        """That the id of a field's name is that of a column of one of their datasets."""
        sql = (
            f" AND {column} IN (SELECT f.name FROM schema_field f "
            "JOIN schema_span s ON s.schema = f.schema JOIN dataset d ON d.id = s.dataset "
            "WHERE d.root IN (SELECT root FROM dataset WHERE namespace = ANY(?)) "
            "UNION SELECT m.name FROM mapped_field m JOIN dataset d ON d.id = m.dataset "
            "WHERE d.root IN (SELECT root FROM dataset WHERE namespace = ANY(?)))"
        )
        return (sql, [self.namespaces] * 2) if self.is_limited else ("", [])

    def shown(self) -> Clause:
        """That a name `d` of a dataset, in a namespace `n`, is the one by which it is listed.

        That is its root, or else the first of its names in the namespaces.
        """
        if not self.is_limited:
            return " AND d.id = d.root AND NOT d.hidden", []
        sql = (
            " AND d.namespace = ANY(?) AND EXISTS (SELECT 1 FROM dataset r WHERE r.id = d.root "
            "AND NOT r.hidden AND (r.id = d.id OR NOT r.namespace = ANY(?))) "
            "AND (d.id = d.root OR NOT EXISTS (SELECT 1 FROM dataset o "
            "JOIN namespace m ON m.id = o.namespace WHERE o.root = d.root "
            "AND o.namespace = ANY(?) AND (m.name, o.name) < (n.name, d.name)))"
        )
        return sql, [self.namespaces] * 3

    def own_jobs(self, jobs: Iterable[int]) -> set[int]:
        """Those of some jobs that are theirs."""
        return self._own(jobs, "SELECT id FROM job WHERE id = ANY(?) AND namespace = ANY(?)")

    def own_runs(self, runs: Iterable[int]) -> set[int]:
        """Those of some runs that are theirs."""
        return self._own(
            runs,
            "SELECT r.id FROM run r JOIN job j ON j.id = r.job "
            "WHERE r.id = ANY(?) AND j.namespace = ANY(?)",
        )

    def own_names(self, members: Iterable[int]) -> set[int]:
        """Those of some names of datasets that are in the namespaces."""
        return self._own(members, "SELECT id FROM dataset WHERE id = ANY(?) AND namespace = ANY(?)")

    def _own(self, ids: Iterable[int], sql: str) -> set[int]:
        wanted = {*ids}
        if not self.is_limited or not wanted:
            return wanted
        return {row[0] for row in self._session.all(sql, [*wanted], self.namespaces)}
