"""The labs that the demo runs: their connectors and jobs, and the truth about their lineage."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct

from headwater.cli.connect import read_connector
from headwater.cli.demo.truth import JobTruth, Truth, columns, job, same

_ORDER = ("order_id", "item", "price", "supplier", "bid_time")
_BID = ("order_id", "price", "supplier", "bid_time")
_WORKER = job("headwater_worker")


class Lab(Struct, frozen=True):
    """What is deployed, in this order, and what must come of it."""

    name: str
    about: str
    connectors: tuple[str, ...]
    truth: Truth
    batch: tuple[str, ...] = ()
    # The connector whose first rows the batch jobs wait for.
    filled_by: str = ""

    @property
    def source(self) -> str:
        """The job that the lab's data begins with."""
        return self.truth.jobs[0].name


def connector(name: str) -> dict[str, Any]:
    """The configuration of one of the connectors that come with Headwater."""
    return read_connector(_folder() / f"{name}.json")[1]


def known_connectors() -> frozenset[str]:
    """Every connector that a lab may have deployed."""
    return frozenset(name for lab in LABS.values() for name in (*lab.connectors, *lab.batch))


def _folder() -> Path:
    """The connectors' files: inside the wheel, or at the root of the repository."""
    packaged = Path(str(files("headwater"))) / "connectors"
    return packaged if packaged.is_dir() else packaged.parents[2] / "connectors"


def _topic(*names: str) -> Mapping[str, frozenset[str]]:
    return {name: frozenset() for name in names}


def _sinks(prefix: str, *topics: str) -> tuple[JobTruth, ...]:
    """The jobs of the two sinks, one of each for a topic."""
    several = len(topics) > 1
    return tuple(
        job(f"{prefix}-{kind}-sink{f'.{topic}' if several else ''}", f"topic:{topic}", target)
        for topic in topics
        for kind, target in (("s3", f"archive:{topic}"), ("iceberg", f"table:{topic}"))
    )


_STREAM = Lab(
    name="stream",
    about="a source, an archive, a table, windows, and a batch job over the table",
    connectors=("orders-source", "orders-s3-sink", "iceberg-ingestion", "supplier-stats"),
    batch=("supplier_stats",),
    filled_by="iceberg-ingestion",
    truth=Truth(
        jobs=(
            job("orders-source", "", "topic:orders"),
            job("orders-s3-sink", "topic:orders", "archive:orders"),
            job("iceberg-ingestion", "topic:orders", "table:orders"),
            job("supplier-stats", "topic:orders", "topic:supplier-stats"),
            job("supplier_stats", state="COMPLETED"),
            job(
                "supplier_stats.overwrite_by_expression.default_supplier_stats",
                *("table:orders", "table:supplier_stats", "COMPLETED"),
            ),
            _WORKER,
        ),
        datasets={
            "topic:orders": _topic(*_ORDER),
            "archive:orders": same("orders", *_ORDER, more=("partition",)),
            "table:orders": same("orders", *_ORDER),
            "topic:supplier-stats": columns(
                "orders",
                window_start="bid_time",
                window_end="bid_time",
                supplier="supplier",
                total_price="price",
                count="",
            ),
            "table:supplier_stats": columns(
                "orders",
                bid_date="bid_time",
                bid_hour="bid_time",
                supplier="supplier",
                total_price="price",
                total_count="",
            ),
        },
    ),
)
_CONNECT = Lab(
    name="connect",
    about="a source and two sinks",
    connectors=("orders-source", "orders-s3-sink", "orders-iceberg-sink"),
    truth=Truth(
        jobs=(job("orders-source", "", "topic:orders"), *_sinks("orders", "orders"), _WORKER),
        datasets={
            "topic:orders": _topic(*_ORDER),
            "archive:orders": same("orders", *_ORDER, more=("partition",)),
            "table:orders": same("orders", *_ORDER),
        },
    ),
)
_MULTI = Lab(
    name="connect-multi",
    about="a source for two topics, and two sinks for both",
    connectors=("multi-topic-source", "multi-topic-s3-sink", "multi-topic-iceberg-sink"),
    truth=Truth(
        jobs=(
            job("multi-topic-source", "", "topic:orders topic:bids"),
            *_sinks("multi-topic", "orders", "bids"),
            _WORKER,
        ),
        datasets={
            "topic:orders": _topic(*_ORDER),
            "topic:bids": _topic(*_BID),
            "archive:orders": same("orders", *_ORDER, more=("partition",)),
            "archive:bids": same("bids", *_BID, more=("partition",)),
            "table:orders": same("orders", *_ORDER),
            "table:bids": same("bids", *_BID),
        },
    ),
)
LABS: Mapping[str, Lab] = {lab.name: lab for lab in (_STREAM, _CONNECT, _MULTI)}
