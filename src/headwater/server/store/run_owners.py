"""Sees that an event names no run of a namespace that its key does not cover, as it is stored.

The check is part of the transaction that stores the event: of two keys that report one run at the
same time, the second to be stored finds the run of the first.
"""

from collections.abc import Iterator
from uuid import UUID

import msgspec

from headwater.errors import RunOfAnother
from headwater.openlineage.events import Event
from headwater.openlineage.facets import ParentFacet, read_strictly
from headwater.server.store.commit import Commit
from headwater.server.store.jobs import job_name
from headwater.server.store.runs import read_runs


def require_own_runs(commit: Commit, event: Event) -> None:
    """Refuse an event that names a run of a job outside of the namespaces it may speak for.

    Raises: RunOfAnother.
    """
    if event.runs_of is None:
        return
    runs = {uuid.bytes for uuid in _runs(event)}
    read_runs(commit, runs)
    for run in runs & commit.cache.run_ids.keys():
        namespace, _ = job_name(commit, commit.cache.runs[commit.cache.run_ids[run]].job)
        if not namespace.startswith(event.runs_of):
            raise RunOfAnother


def covered_text(event: Event) -> str:
    """What the key of an event covers, as it is stored: an empty prefix covers everything."""
    return msgspec.json.encode(event.runs_of or ("",)).decode()


def covered_by(text: str) -> tuple[str, ...]:
    """The prefixes of what a key covers, from how they are stored."""
    return msgspec.json.decode(text, type=tuple[str, ...])


def _runs(event: Event) -> Iterator[UUID]:
    """The run of an event, its parent and the root."""
    if event.run is not None:
        yield event.run
    parent: ParentFacet | None = read_strictly(event.run_facets, "parent", "run")
    if parent is not None:
        yield UUID(parent.run.run_id)
        if parent.root is not None and parent.root.run is not None:
            yield UUID(parent.root.run.run_id)
