"""What every handler is given: the store, its readers and the settings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headwater.server.answers.reading import Reader
from headwater.server.http.authentication import Guard
from headwater.server.live.feed import Live
from headwater.server.settings import Settings
from headwater.server.store.store import Store
from headwater.server.topics.topics import Topics

if TYPE_CHECKING:
    from headwater.server.clusters import Clusters


class Service:
    """The parts of a running server.

    One dependency rather than several: Litestar resolves several in a task group, which took
    a quarter of the time of a small request. A plain class: of a tuple or a dataclass each part
    would be checked anew in every request.
    """

    def __init__(
        self,
        store: Store,
        reader: Reader,
        settings: Settings,
        live: Live,
        clusters: "Clusters | None",
        guard: Guard,
        topics: Topics,
    ) -> None:
        self.store, self.reader, self.settings = store, reader, settings
        self.live, self.guard, self.topics = live, guard, topics
        self.clusters = clusters  # None where the server was told of none

    def change(self, how: Callable[..., None], *args: Any) -> None:
        """Make a change of `store.changes`, and wait until it is on disk."""
        self.store.writer.change(lambda session, unit: how(session, unit, *args)).result()
