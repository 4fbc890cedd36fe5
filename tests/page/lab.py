"""The lab's pipeline as OpenLineage events, as capture sends them.

python tests/page/lab.py URL          what happened so far
python tests/page/lab.py URL --live   and what goes on, until Ctrl-C
"""

import json
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

Event = dict[str, Any]
Columns = dict[str, tuple[str, list[tuple[str, str, str]]]]  # name: type, (input, field, effect)

KAFKA = "kafka://broker:9092"
S3 = "s3://fh-dev-bucket"
WAREHOUSE = "s3://warehouse"
JOBS = "headwater"
PRODUCER = "urn:headwater:capture:0.1.0"
SPEC = "https://openlineage.io/spec"
LEASE = 30.0

ORDERS = (KAFKA, "orders")
STATS = (KAFKA, "supplier-stats")
OBJECTS = (S3, "orders")
TABLE = (WAREHOUSE, "warehouse/default/orders")
DAILY = (WAREHOUSE, "warehouse/default/supplier_stats")
PLACES = {"orders": ORDERS, "stats": STATS, "table": TABLE}

IDENTITY, CAST, SUM = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
_FORMULAS = {
    ("orders", "price", CAST): "cast(price AS decimal(10,2))",
    ("orders", "supplier", CAST): "currency_of(supplier)",
    ("orders", "bid_time", CAST): "window(bid_time, 5 seconds)",
    ("orders", "price", SUM): "sum(price)",
    ("orders", "order_id", SUM): "count(order_id)",
    ("table", "bid_time", CAST): "date_trunc('hour', bid_time)",
    ("table", "price", SUM): "sum(price)",
    ("table", "order_id", SUM): "count(order_id)",
}
GROUP, WINDOW, FILTER = "GROUP_BY", "WINDOW", "FILTER"
INDIRECT = {GROUP, WINDOW, FILTER, "SORT", "JOIN", "CONDITIONAL"}

ORDER_FIELDS = {
    "order_id": "string",
    "bid_time": "timestamp",
    "price": "double",
    "item": "string",
    "supplier": "string",
}
COPIED: Columns = {
    name: (kind, [("orders", name, IDENTITY)]) for name, kind in ORDER_FIELDS.items()
}
INGESTED: Columns = COPIED | {"price": ("decimal(10,2)", [("orders", "price", CAST)])}
_BY = [("orders", "supplier", GROUP), ("orders", "bid_time", WINDOW)]
WINDOWED: Columns = {
    "window_start": ("timestamp", [("orders", "bid_time", CAST), *_BY]),
    "window_end": ("timestamp", [("orders", "bid_time", CAST), *_BY]),
    "supplier": ("string", [("orders", "supplier", IDENTITY), *_BY]),
    "total_price": ("double", [("orders", "price", SUM), *_BY]),
    "count": ("bigint", [("orders", "order_id", SUM), *_BY]),
}
_DAY = [("table", "supplier", GROUP), ("table", "bid_time", FILTER)]
HOURLY: Columns = {
    "hour": ("timestamp", [("table", "bid_time", CAST), *_DAY]),
    "supplier": ("string", [("table", "supplier", IDENTITY), *_DAY]),
    "total_price": ("decimal(20,2)", [("table", "price", SUM), *_DAY]),
    "orders": ("bigint", [("table", "order_id", SUM), *_DAY]),
}
SQL = """INSERT OVERWRITE default.supplier_stats
SELECT date_trunc('hour', bid_time) AS hour, supplier,
       sum(price) AS total_price, count(order_id) AS orders
FROM default.orders
WHERE bid_time >= current_date()
GROUP BY 1, 2"""


def facet(schema: str, **fields: Any) -> Event:
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}/facets/{schema}", **fields}


def own(name: str, **fields: Any) -> Event:
    return {"_producer": PRODUCER, "_schemaURL": f"urn:headwater:facet:{name}:1", **fields}


def run_id(*words: object) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, words))))


def dataset(
    place: tuple[str, str], fields: dict[str, str], columns: Columns | None = None
) -> Event:
    told = [{"name": name, "type": kind} for name, kind in fields.items()]
    facets = {"schema": facet("1-2-0/SchemaDatasetFacet.json", fields=told)}
    if columns:
        facets["columnLineage"] = facet(
            "1-2-0/ColumnLineageDatasetFacet.json",
            fields={name: {"inputFields": _inputs(given)} for name, (_, given) in columns.items()},
        )
    return {"namespace": place[0], "name": place[1], "facets": facets}


def written(place: tuple[str, str], columns: Columns, *, linked: bool = True) -> Event:
    fields = {name: kind for name, (kind, _) in columns.items()}
    return dataset(place, fields, columns if linked else None)


def _inputs(given: list[tuple[str, str, str]]) -> list[Event]:
    found: dict[tuple[str, str], list[Event]] = {}
    for source, field, effect in given:
        kind = "INDIRECT" if effect in INDIRECT else "DIRECT"
        formula = _FORMULAS.get((source, field, effect), "")
        step = {"type": kind, "subtype": effect, "description": formula, "masking": False}
        found.setdefault((source, field), []).append(step)
    return [
        {
            "namespace": PLACES[source][0],
            "name": PLACES[source][1],
            "field": field,
            "transformations": steps,
        }
        for (source, field), steps in found.items()
    ]


def event(
    kind: str, job: str, run: str, at: datetime, *, streaming: bool = True,
    inputs: tuple[Event, ...] = (), outputs: tuple[Event, ...] = (), sql: str | None = None,
    **run_facets: Event,
) -> Event:  # fmt: skip
    processing = "STREAMING" if streaming else "BATCH"
    job_facets = {
        "jobType": facet(
            "2-0-4/JobTypeJobFacet.json", processingType=processing, integration="SPARK",
            jobType="JOB",
        ),
        "ownership": facet(
            "1-0-1/OwnershipJobFacet.json", owners=[{"name": "team:orders", "type": "MAINTAINER"}]
        ),
    }  # fmt: skip
    if sql:
        job_facets["sql"] = facet("1-1-0/SQLJobFacet.json", query=sql)
    if streaming:
        run_facets["headwater_lease"] = own("lease", seconds=LEASE)
    return {
        "eventType": kind,
        "eventTime": at.isoformat(timespec="microseconds"),
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": run_facets},
        "job": {"namespace": JOBS, "name": job, "facets": job_facets},
        "inputs": list(inputs),
        "outputs": list(outputs),
    }


def progress(at: datetime, job: str, rows: int) -> Event:
    rate, lag = STREAMS[job][2] + rows % 7, rows % 3
    state = {"watermark": (at - timedelta(seconds=0.4)).isoformat(), "stateRows": 12}
    snapshots = snapshot(rows) if job == "iceberg-ingestion" else []
    span = [rows - int(rate), rows]
    return own(
        "progress", queryId=run_id("query", rate), batchId=rows // 1000, batches=rows // 1000,
        rows=rows, inputRows=int(rate), inputRowsPerSecond=rate, processedRowsPerSecond=rate,
        batchDurationMs=420, stateBytes=20_480, snapshots=snapshots,
        commits=[{"batch": rows // 1000, "offsets": {"orders": {"0": span}},
                  **({"snapshot": snapshots[0], "sequence": rows // 1000} if snapshots else {})}],
        **(state if job == "supplier-stats" else {}),
        sources=[{
            "description": "KafkaV2[Subscribe[orders]]", "rows": int(rate), "lag": lag,
            "startOffset": {"orders": {"0": span[0]}}, "endOffset": {"orders": {"0": span[1]}},
            "latestOffset": {"orders": {"0": rows + lag}},
        }],
    )  # fmt: skip


def error(text: str) -> Event:
    return facet("1-0-1/ErrorMessageRunFacet.json", message=text, programmingLanguage="PYTHON")


IN = dataset(ORDERS, ORDER_FIELDS)
STREAMS: dict[str, tuple[tuple[Event, ...], tuple[Event, ...], float]] = {
    "orders-source": ((), (IN,), 998.0),
    "supplier-stats": ((IN,), (written(STATS, WINDOWED),), 998.0),
    "iceberg-ingestion": ((IN,), (written(TABLE, INGESTED),), 996.0),
    "orders-s3-sink": ((IN,), (written(OBJECTS, COPIED),), 401.0),
}


def started(now: datetime) -> list[Event]:
    """The streams, two hours into their runs; the batch job with a day of runs, one failed."""
    begun = now - timedelta(hours=2)
    found = []
    for job, (inputs, outputs, _) in STREAMS.items():
        run = run_id(job, "now")
        found.append(event("START", job, run, begun))
        found.append(event("RUNNING", job, run, begun + timedelta(seconds=2), inputs=inputs,
                           outputs=outputs))  # fmt: skip
    for number in range(3, 0, -1):
        found += heartbeats(now - timedelta(seconds=5 * number - 4), 7_190_000 - 5_000 * number)
    for hour in range(24, 0, -1):
        found += batch(now - timedelta(hours=hour), failing=hour == 9)
    found += batch(now - timedelta(seconds=5), rows=7_180_000)
    return found


def heartbeats(at: datetime, rows: int, jobs: tuple[str, ...] = tuple(STREAMS)) -> list[Event]:
    return [
        event("RUNNING", job, run_id(job, "now"), at,
              headwater_progress=progress(at, job, rows))
        for job in jobs
    ]  # fmt: skip


DAY = "8400000000000000001"  # the snapshot of the batch job's last run


def snapshot(rows: int) -> list[str]:
    return [str(8_300_000_000_000_000_000 + rows)]


def batch(at: datetime, *, failing: bool = False, rows: int | None = None) -> list[Event]:
    """A run of the batch job; with a number of rows, it tells the snapshots it read and wrote."""
    run = run_id("supplier_stats", at.isoformat())
    took = timedelta(seconds=18 + at.hour if rows is None else 3)
    source = dataset(TABLE, {name: kind for name, (kind, _) in INGESTED.items()})
    end: Event
    if failing:
        why = "AnalysisException: Table default.orders is being replaced by another writer"
        end = event("FAIL", "supplier_stats", run, at + took, streaming=False, sql=SQL,
                    inputs=(source,), errorMessage=error(why))  # fmt: skip
    else:
        left = facet("1-0-2/OutputStatisticsOutputDatasetFacet.json", rowCount=240, size=18_450,
                     fileCount=2)  # fmt: skip
        output = {**written(DAILY, HOURLY), "outputFacets": {"outputStatistics": left}}
        told = {}
        if rows is not None:
            source["facets"]["version"] = facet(
                "1-0-1/DatasetVersionDatasetFacet.json", datasetVersion=snapshot(rows)[0]
            )
            told["headwater_progress"] = own("progress", rows=240, sources=[], snapshots=[DAY])
        end = event("COMPLETE", "supplier_stats", run, at + took, streaming=False, sql=SQL,
                    inputs=(source,), outputs=(output,), **told)  # fmt: skip
    return [event("START", "supplier_stats", run, at, streaming=False, sql=SQL), end]


def evolved(now: datetime) -> list[Event]:
    """An hour ago the table gained a column, and lost one; a second topic came."""
    columns = {name: one for name, one in INGESTED.items() if name != "item"}
    columns["currency"] = ("string", [("orders", "supplier", CAST)])
    at = now - timedelta(hours=1)
    run = run_id("iceberg-ingestion", "now")
    return [event("RUNNING", "iceberg-ingestion", run, at, inputs=(IN,),
                  outputs=(written(TABLE, columns),))]  # fmt: skip


def post(url: str, events: list[Event]) -> None:
    request = urllib.request.Request(
        f"{url}/api/v1/lineage", json.dumps(events).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert answer.status == 201, answer.read()


def main(url: str, *, live: bool) -> None:
    post(url, started(datetime.now(UTC)))
    rows = 7_200_000
    while live:
        post(url, heartbeats(datetime.now(UTC), rows))
        rows += 1_000
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1], live="--live" in sys.argv)
