"""Leases: ends runs whose producer fell silent while a server could have received its events.

A server counts only time in which it was there. After a gap in its checks (it was stopped, its
machine slept, its clock was set), after an outage of the store and after its start, every run has
its full lease again. On a shared store, each server counts for itself.
"""

from typing import Any
from uuid import UUID

import msgspec

from headwater.openlineage.times import format_moment, now
from headwater.server.store.apply import store_events
from headwater.server.store.commit import Commit
from headwater.server.store.database import Session
from headwater.server.store.run_states import LAPSE
from headwater.server.store.store import Store
from headwater.version import PRODUCER


class Leases:
    """Checks the leases of a store's runs, at intervals."""

    def __init__(self, store: Store, every: float) -> None:
        self._store = store
        # A check may be late on a busy machine. A longer gap is an absence.
        self._longest_gap = int((2 * every + 1) * 1_000_000)
        self._since: int = now()
        self._checked_at: int = self._since

    def expire(self, at: int | None = None) -> int:
        """End runs whose lease expired while this server listened; tell how many."""
        at = now() if at is None else at
        if not 0 <= at - self._checked_at <= self._longest_gap:
            self._since = at
        self._checked_at = at
        since = max(self._since, self._store.writer.failed_at)
        with self._store.database.reading() as session:
            if not _expired(session, at, since):
                return 0
        # Events that wait to be written come first, and renew their leases.
        ended: int = self._store.writer.change(
            lambda commit: self._end(commit, _expired(commit.session, at, since))
        ).result()
        return ended

    def _end(self, commit: Commit, runs: list[tuple[Any, ...]]) -> int:
        return store_events(commit, [self._store.read(_lapse(*run)) for run in runs])


def _expired(session: Session, at: int, since: int) -> list[tuple[Any, ...]]:
    return session.all(
        "SELECT r.uuid, n.name, j.name, r.lease, r.heard_at, r.updated_at FROM run r "
        "JOIN job j ON j.id = r.job JOIN namespace n ON n.id = j.namespace "
        "WHERE r.deadline < ? AND r.lease < ?",
        at, at - since,
    )  # fmt: skip


def _lapse(uuid: bytes, namespace: str, name: str, lease: int, heard: int, updated: int) -> bytes:
    """The ABORT that the server reports for a run that fell silent.

    Its time is the end of the lease by the clock of the run's producer: the run is alive again with
    an event that is dated later, wherever and in whatever order its events are stored.
    """
    seconds = lease / 1_000_000
    reason = f"no event of the run arrived for {seconds:g} s, the length of its lease"
    body = {
        "eventType": "ABORT",
        "eventTime": format_moment(updated + lease),
        "producer": PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": str(UUID(bytes=uuid)),
            "facets": {
                LAPSE: {
                    "_producer": PRODUCER,
                    "_schemaURL": "urn:headwater:facets:1-0-0:LapseRunFacet",
                    "reason": reason,
                    "seconds": seconds,
                    "lastHeard": format_moment(heard),
                }
            },
        },
        "job": {"namespace": namespace, "name": name},
    }
    return msgspec.json.encode(body)
