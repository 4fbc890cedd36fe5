"""What every handler is given: the store, its readers and the settings."""

from collections.abc import Callable
from typing import Any, NamedTuple

from headwater.server.answers.reading import Reader
from headwater.server.clusters import Clusters
from headwater.server.guard import Guard
from headwater.server.live import Live
from headwater.server.settings import Settings
from headwater.server.store.store import Store
from headwater.server.topics.topics import Topics


class Service(NamedTuple):
    """The parts of a running server.

    One dependency rather than several: Litestar resolves several in a task group, which took
    a quarter of the time of a small request.
    """

    store: Store
    reader: Reader
    settings: Settings
    live: Live
    clusters: Clusters
    guard: Guard
    topics: Topics

    def change(self, how: Callable[..., None], *args: Any) -> None:
        """Make a change of `store.changes`, and wait until it is on disk."""
        self.store.writer.change(lambda session, unit: how(session, unit, *args)).result()
