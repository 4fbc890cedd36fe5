"""The server's settings, read once."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from headwater.errors import UsageError
from headwater.openlineage.sizes import MOST_BYTES
from headwater.server.topics.kafka_clusters import KafkaCluster, parse_kafka_clusters

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
DEFAULT_ALIASES = (("s3a://", "s3://"), ("s3n://", "s3://"))


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set; each also as a variable `HEADWATER_…`."""

    host: str = "127.0.0.1"
    port: int = 5000
    store: str = "sqlite:///headwater.db"
    aliases: tuple[tuple[str, str], ...] = DEFAULT_ALIASES
    max_body: int = 64 * 2**20
    max_event: int = MOST_BYTES
    max_connections: int = 1000
    max_streams: int = 100
    request_timeout: float = 30.0
    lease_check: float = 1.0
    live_check: float = 0.25
    log_level: str = "info"
    mask: tuple[str, ...] = ()
    consume: tuple[str, ...] = ()
    keep: float = 0.0
    clock_tolerance: float = 3600.0
    open: bool = False
    rate: float = 0.0
    cors: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None
    connect: tuple[tuple[str, str], ...] = ()
    kafka: tuple[KafkaCluster, ...] = ()


def parse_aliases(text: str) -> tuple[tuple[str, str], ...]:
    """Read `from=to,from=to`; the default rules stand beneath.

    Raises: UsageError, when a rule has no `=`.
    """
    rules = []
    for rule in filter(None, (part.strip() for part in text.split(","))):
        old, equals, new = rule.partition("=")
        if not equals or not old or not new:
            raise UsageError(
                f"{rule!r} is not an alias rule",
                hint="Write HEADWATER_ALIASES as from=to,from=to, "
                "e.g. kafka://b2:9092=kafka://b1:9092",
            )
        rules.append((old, new))
    return (*rules, *DEFAULT_ALIASES)


def parse_span(text: str) -> float:
    """Read a length of time, such as 90d, 12h or 30m, as seconds; without a unit it is in seconds.

    Raises: UsageError, when it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", text.strip().lower())
    if not text.strip():
        return 0.0
    if match is None:
        raise UsageError(f"{text!r} is not a duration", hint="Write it as 90d, 12h or 30m")
    return float(match[1]) * _UNITS[match[2] or "s"]


def parse_switch(text: str) -> bool:
    """Read a yes or no."""
    return text.strip().lower() in ("1", "true", "yes", "on")


def parse_list(text: str) -> tuple[str, ...]:
    """Read `one,other`."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_clusters(text: str) -> tuple[tuple[str, str], ...]:
    """Read `name=url,name=url`.

    Raises: UsageError, when one is not that.
    """
    found = []
    for told in filter(None, (part.strip() for part in text.split(","))):
        name, equals, url = told.partition("=")
        if not equals or not name or "/" in name or not url.startswith(("http://", "https://")):
            raise UsageError(
                f"{told!r} is not a pipeline",
                hint="Write --connect NAME=URL, e.g. --connect lab=http://127.0.0.1:8083",
            )
        found.append((name, url))
    return tuple(found)


def read_settings(env: Mapping[str, str], **given: object) -> Settings:
    """Settings from the environment, under those that are given.

    Raises: UsageError, when a variable cannot be read.
    """
    told: dict[str, object] = {}
    for name, convert in _VARIABLES.items():
        text = env.get(f"HEADWATER_{name.upper()}")
        if text:
            told[name] = _convert(name, text, convert)
    told |= {name: value for name, value in given.items() if value is not None}
    return Settings(**told)  # type: ignore[arg-type]


def _convert(name: str, text: str, convert: object) -> object:
    try:
        return convert(text)  # type: ignore[operator]
    except ValueError:
        raise UsageError(
            f"HEADWATER_{name.upper()} is {text!r}, which is not a number",
            hint="Give a number, or unset it",
        ) from None


_VARIABLES = {
    "host": str,
    "port": int,
    "store": str,
    "aliases": parse_aliases,
    "max_body": int,
    "max_event": int,
    "max_connections": int,
    "max_streams": int,
    "request_timeout": float,
    "lease_check": float,
    "live_check": float,
    "log_level": str,
    "mask": parse_list,
    "consume": str.split,
    "keep": parse_span,
    "clock_tolerance": parse_span,
    "open": parse_switch,
    "rate": float,
    "cors": parse_list,
    "hosts": parse_list,
    "tls_cert": str,
    "tls_key": str,
    "connect": parse_clusters,
    "kafka": lambda text: parse_kafka_clusters(text.split()),
}


def store_path(url: str) -> Path | None:
    """The file of a SQLite store."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
