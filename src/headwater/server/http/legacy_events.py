"""Events made from what Marquez's older, imperative API is told."""

from typing import Any

import msgspec

from headwater.openlineage.times import format_moment, now
from headwater.version import PRODUCER

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


def _event(kind: str, time: int | None, **body: Any) -> bytes:
    whole = {
        "eventTime": format_moment(now() if time is None else time),
        "producer": PRODUCER,
        "schemaURL": _SPEC + kind,
        **body,
    }
    return msgspec.json.encode(whole)


def _facets(**facets: dict[str, Any] | None) -> dict[str, Any]:
    return {name: {"_producer": PRODUCER, **facet} for name, facet in facets.items() if facet}


def dataset_event(
    namespace: str,
    name: str,
    fields: list[dict[str, Any]] | None,
    source: str | None,
    text: str | None,
) -> bytes:
    """A dataset event for `PUT /datasets`."""
    kept = ("name", "type", "description")
    told = [{k: f[k] for k in kept if f.get(k) is not None} for f in fields or ()]
    facets = _facets(
        schema={"fields": told} if fields is not None else None,
        dataSource={"name": source, "uri": source} if source else None,
        documentation={"description": text} if text else None,
    )
    return _event(
        "DatasetEvent", None, dataset={"namespace": namespace, "name": name, "facets": facets}
    )


def job_event(
    namespace: str,
    name: str,
    *,
    kind: str,
    inputs: list[Any],
    outputs: list[Any],
    location: str | None,
    text: str | None,
) -> bytes:
    """A job event for `PUT /jobs`."""
    is_stream = kind.upper().startswith("STREAM")
    facets = _facets(
        jobType={
            "processingType": "STREAMING" if is_stream else "BATCH",
            "integration": "API",
            "jobType": "JOB",
        },
        documentation={"description": text} if text else None,
        sourceCodeLocation={"type": "git", "url": location} if location else None,
    )
    return _event(
        "JobEvent",
        None,
        job={"namespace": namespace, "name": name, "facets": facets},
        inputs=inputs,
        outputs=outputs,
    )


def run_event(kind: str, run: str, job: tuple[str, str], time: int | None) -> bytes:
    """A run event for `POST /runs` and `/start`, `/complete`, `/fail`, `/abort`."""
    return _event(
        "RunEvent",
        time,
        eventType=kind,
        run={"runId": run},
        job={"namespace": job[0], "name": job[1]},
    )
