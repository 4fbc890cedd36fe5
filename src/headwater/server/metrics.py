"""Figures of the server for Prometheus."""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()
EVENTS = Counter("headwater_events", "Events stored or known already", registry=REGISTRY)
REJECTED = Counter("headwater_events_rejected", "Events refused", registry=REGISTRY)
MASKED = Counter(
    "headwater_secrets_masked",
    "Secrets masked in events and answers, by rule",
    ["rule"],
    registry=REGISTRY,
)
REQUESTS = Histogram(
    "headwater_request_seconds",
    "Time to answer, by method and status",
    ["method", "status"],
    registry=REGISTRY,
)
LAPSED = Counter(
    "headwater_leases_lapsed", "Runs ended because they fell silent", registry=REGISTRY
)
WAITING = Gauge("headwater_writes_waiting", "Writes that wait for a commit", registry=REGISTRY)
WATCHING = Gauge("headwater_watching", "Clients of the live stream", registry=REGISTRY)
DROPPED = Counter(
    "headwater_watching_dropped", "Clients let go because they did not keep up", registry=REGISTRY
)
REFUSED = Counter(
    "headwater_requests_refused", "Requests without the right key, or too many", registry=REGISTRY
)
CONNECTIONS_CLOSED = Counter(
    "headwater_connections_closed",
    "Connections closed because a client was too slow, or for others to have room",
    registry=REGISTRY,
)
CONSUMED = Counter("headwater_events_consumed", "Events taken from Kafka", registry=REGISTRY)
CONSUMERS_PAUSED = Gauge(
    "headwater_consumers_paused",
    "Kafka consumers that wait for the store or for the dead-letter topic",
    registry=REGISTRY,
)
DEAD = Counter("headwater_events_dead", "Messages put on a dead-letter topic", registry=REGISTRY)
STORE_BYTES = Gauge("headwater_store_bytes", "Size of the store", registry=REGISTRY)


@cache
def timer(method: str, status: str) -> Histogram:
    """Where the time of requests of a kind is noted."""
    return REQUESTS.labels(method, status)


def page() -> bytes:
    """The figures, as Prometheus reads them."""
    return generate_latest(REGISTRY)
