"""Which registry has a topic's schema: the one that a query's own options name, else the usual."""

from collections.abc import Iterable, Mapping

from headwater.capture.datasets.naming import Dataset
from headwater.capture.datasets.registry import Registry
from headwater.capture.plan.sources import Field

# Options of a reader or writer of Kafka. Spark does not show what is called a password.
URL, PASSWORD, READ = (
    "headwater.registry.url",
    "headwater.registry.password",
    "headwater.registry.read",
)
_BOTH = frozenset({"key", "value"})


class Registries:
    """The registries of one session's topics."""

    def __init__(self, usual: Registry | None = None) -> None:
        self._usual = usual
        self._known: dict[tuple[str, str], Registry] = {}
        self._topics: dict[tuple[str, str], tuple[Registry | None, frozenset[str]]] = {}

    def note(self, options: Mapping[str, str], topics: Iterable[Dataset]) -> None:
        """Remember what the options of a query say about its topics."""
        if URL not in options and READ not in options:
            return
        registry = self._usual
        if options.get(URL):
            place = options[URL], options.get(PASSWORD, "")
            if place not in self._known:
                self._known[place] = Registry(place[0], place[1] or None)
            registry = self._known[place]
        wanted = frozenset(options.get(READ, "key,value").replace(" ", "").split(",")) & _BOTH
        for topic in topics:
            self._topics[topic.key] = registry, wanted

    def fields(self, topic: Dataset) -> tuple[Field, ...]:
        """The fields that a registry has for a topic; none if there is none to ask."""
        registry, wanted = self._topics.get(topic.key, (self._usual, _BOTH))
        return registry.fields(topic.name, wanted) if registry is not None else ()

    def close(self) -> None:
        """Let go of connections."""
        for registry in (self._usual, *self._known.values()):
            if registry is not None:
                registry.close()

    def __bool__(self) -> bool:
        return self._usual is not None or bool(self._known)
