"""OpenLineage events in few words, for tests."""

import json
from typing import Any
from uuid import NAMESPACE_URL, uuid5

Event = dict[str, Any]
PRODUCER = "https://example.org/producer"
SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


def minute(number: float) -> str:
    """A time, in minutes after eight o'clock."""
    hours, seconds = divmod(round(number * 60) + 8 * 3600, 3600)
    return f"2026-03-02T{hours:02d}:{seconds // 60:02d}:{seconds % 60:02d}Z"


def run_id(name: str) -> str:
    """The UUID that stands for a short name."""
    return str(uuid5(NAMESPACE_URL, name))


def facet(**keys: Any) -> dict[str, Any]:
    """A facet as producers write it."""
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}Facet", **keys}


def schema(*names: str) -> dict[str, Any]:
    """A schema facet; a field is `name` or `name:type`."""
    pairs = (name.partition(":") for name in names)
    return facet(fields=[{"name": name, "type": kind or "string"} for name, _, kind in pairs])


def comes_from(dataset: str, field: str, namespace: str = "db", **more: Any) -> dict[str, Any]:
    """One input field of a column lineage facet."""
    return {"namespace": namespace, "name": dataset, "field": field, **more}


def lineage(**fields: list[dict[str, Any]]) -> dict[str, Any]:
    """A column lineage facet: output field → input fields."""
    return facet(fields={name: {"inputFields": inputs} for name, inputs in fields.items()})


def symlinks(*names: tuple[str, str]) -> dict[str, Any]:
    """A facet that tells a dataset's other names."""
    return facet(identifiers=[{"namespace": n, "name": m, "type": "TABLE"} for n, m in names])


def parent(run: str, job: str, namespace: str = "jobs", **more: Any) -> dict[str, Any]:
    """A parent facet."""
    return facet(run={"runId": run_id(run)}, job={"namespace": namespace, "name": job}, **more)


def dataset(name: str, namespace: str = "db", **facets: Any) -> dict[str, Any]:
    """A dataset of an event."""
    return {"namespace": namespace, "name": name, "facets": facets}


def run_event(
    kind: str = "COMPLETE",
    at: float = 0,
    *,
    run: str = "run",
    job: str = "job",
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
    job_facets: dict[str, Any] | None = None,
    **run_facets: Any,
) -> Event:
    """A run event; datasets are names or `dataset(…)`."""
    event: Event = {
        "eventType": kind,
        "eventTime": minute(at),
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}RunEvent",
        "run": {"runId": run_id(run), "facets": run_facets},
        "job": {"namespace": "jobs", "name": job, "facets": job_facets or {}},
    }
    return _with_datasets(event, inputs, outputs)


def job_event(
    at: float = 0,
    *,
    job: str = "job",
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
    **facets: Any,
) -> Event:
    """A job event."""
    event: Event = {
        "eventTime": minute(at),
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}JobEvent",
        "job": {"namespace": "jobs", "name": job, "facets": facets},
    }
    return _with_datasets(event, inputs, outputs)


def dataset_event(at: float, told: dict[str, Any]) -> Event:
    """A dataset event."""
    return {
        "eventTime": minute(at),
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}DatasetEvent",
        "dataset": told,
    }


def _with_datasets(event: Event, inputs: list[Any] | None, outputs: list[Any] | None) -> Event:
    for key, told in (("inputs", inputs), ("outputs", outputs)):
        if told is not None:
            event[key] = [dataset(d) if isinstance(d, str) else d for d in told]
    return event


def as_bytes(event: Any) -> bytes:
    """An event as it is sent."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
