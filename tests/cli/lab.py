"""A small lab: a real server process that was told of one pipeline, and the command beside it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from headwater.cli.main import main
from ports import free_port

KAFKA, LAKE = "kafka://broker:9092", "s3://warehouse"
Event = dict[str, Any]


class Done(NamedTuple):
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


class Lab:
    """A server, and the command line that asks it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def tell(self, *events: Event) -> None:
        """Send events."""
        for event in events:
            self.tell_raw(json.dumps(event))

    def tell_raw(self, body: str) -> None:
        """Send a body as it stands."""
        headers = {"content-type": "application/json"}
        sent = httpx.post(f"{self.url}/api/v1/lineage", content=body, headers=headers)
        assert sent.status_code == 201, sent.text

    def ask(self, *args: str) -> "Done":
        """Run the command line against the server, in this process."""
        return self.run(*args, *([] if "--" in args else ["--server", self.url]))

    def run(self, *args: str) -> "Done":
        """Run the command line in this process."""
        out, err = StringIO(), StringIO()
        code: Any = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main(args)
            except SystemExit as end:
                code = end.code
        return Done(int(code or 0), out.getvalue(), err.getvalue())

    def json(self, *args: str) -> Any:
        """Run `headwater … --json`, which must succeed."""
        done = self.ask(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def run_headwater(*args: str, **env: str) -> Done:
    """Run the command as a process, in an environment that says nothing of servers or colours."""
    loud = ("HEADWATER_", "OPENLINEAGE_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(loud)}
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli.main", *args],
        capture_output=True, text=True, timeout=180, check=False, env={**plain, **env},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@contextmanager
def running_lab(folder: Path, **variables: str) -> Iterator[Lab]:
    """A server that runs, and was told nothing yet."""
    port = free_port()
    command = [
        sys.executable, "-m", "headwater.cli.main", "server", "--port", str(port),
        "--store", f"sqlite:///{folder / 'lab.db'}",
    ]  # fmt: skip
    env = {**os.environ, "HEADWATER_LEASE_CHECK": "0.1", **variables}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
    try:
        lab = Lab(f"http://127.0.0.1:{port}")
        _await(lab, process, folder / "server.log")
        yield lab
    finally:
        process.terminate()
        process.wait(timeout=120)


def _await(lab: Lab, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{lab.url}/ready").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(log.read_text())


def uuid(number: int) -> str:
    """A run id."""
    return f"0a1b2c3d-0000-4000-8000-{number:012d}"


def dataset(namespace: str, name: str, fields: str = "", **facets: Any) -> Event:
    """A dataset with columns written as `name:type name:type`."""
    told = [dict(zip(("name", "type"), f.split(":"), strict=True)) for f in fields.split()]
    schema = {"schema": {"fields": told}} if fields else {}
    return {"namespace": namespace, "name": name, "facets": {**schema, **facets}}


def step(place: str, name: str, column: str, *kinds: str, text: str = "") -> Event:
    """An input column with transformations written as `DIRECT/IDENTITY`, or `…/by what`."""
    told = [
        {"type": kind, "subtype": subtype, "description": text if kind == "DIRECT" else "".join(by)}
        for kind, subtype, *by in (one.split("/") for one in kinds)
    ]
    return {"namespace": place, "name": name, "field": column, "transformations": told}


GROUPED = ("INDIRECT/GROUP_BY/supplier", "INDIRECT/GROUP_BY/upper(supplier)")


def columns(**fields: list[Event]) -> Event:
    """The facet that says which columns come from which."""
    return {"fields": {name: {"inputFields": inputs} for name, inputs in fields.items()}}


def event(
    kind: str,
    when: str,
    run: int,
    job: str,
    *,
    inputs: list[Event] | None = None,
    outputs: list[Event] | None = None,
    stream: bool = False,
    **facets: Any,
) -> Event:
    """A run event of the lab, at an hour of one day."""
    type_ = {"processingType": "STREAMING" if stream else "BATCH", "integration": "LAB"}
    return {
        "eventType": kind,
        "eventTime": f"2026-11-01T{when}Z",
        "producer": "urn:lab",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": uuid(run), "facets": facets},
        "job": {"namespace": "lab", "name": job, "facets": {"jobType": type_}},
        "inputs": inputs or [],
        "outputs": outputs or [],
    }


def pipeline() -> list[Event]:
    """orders-source → topic → iceberg-ingestion → table → batch with a parent, and a check."""
    topic = dataset(KAFKA, "orders", "id:long supplier:string price:double")
    table = dataset(
        LAKE,
        "default/orders",
        "id:bigint supplier:string price:decimal(10,2)",
        symlinks={
            "identifiers": [{"namespace": "hive://meta:9083", "name": "default.orders"}],
        },
        columnLineage=columns(
            id=[step(KAFKA, "orders", "id", "DIRECT/IDENTITY")],
            supplier=[step(KAFKA, "orders", "supplier", "DIRECT/IDENTITY")],
            price=[step(KAFKA, "orders", "price", "DIRECT/TRANSFORMATION", text="cast")],
        ),
    )
    stats = dataset(
        LAKE,
        "default/supplier_stats",
        "supplier:string revenue:decimal(20,2)",
        columnLineage=columns(
            supplier=[step(LAKE, "default/orders", "supplier", "DIRECT/IDENTITY")],
            revenue=[
                step(LAKE, "default/orders", "price", "DIRECT/AGGREGATION"),
                step(LAKE, "default/orders", "supplier", *GROUPED),
            ],
        ),
    )
    parent = {"run": {"runId": uuid(3)}, "job": {"namespace": "lab", "name": "supplier_stats"}}
    failure = {"message": "price is null\n  at check.py:7", "programmingLanguage": "PYTHON"}
    read = [dataset(LAKE, "default/orders")]
    return [
        event("START", "08:00:00", 1, "orders-source", outputs=[topic], stream=True),
        event("START", "08:01:00", 2, "iceberg-ingestion", stream=True),
        event(
            "RUNNING", "08:01:05", 2, "iceberg-ingestion",
            inputs=[dataset(KAFKA, "orders")], outputs=[table], stream=True,
        ),
        event("START", "09:00:00", 3, "supplier_stats"),
        event("START", "09:00:01", 4, "supplier_stats.overwrite", parent=parent),
        event(
            "COMPLETE", "09:00:31.5", 4, "supplier_stats.overwrite",
            inputs=read, outputs=[stats], parent=parent,
        ),
        event("COMPLETE", "09:00:40", 3, "supplier_stats"),
        event("START", "10:00:00", 5, "orders-check", inputs=read),
        event("COMPLETE", "10:00:02", 5, "orders-check", inputs=read),
        event("START", "11:00:00", 6, "orders-check", inputs=read),
        event("FAIL", "11:01:15", 6, "orders-check", inputs=read, errorMessage=failure),
    ]  # fmt: skip


def loop() -> list[Event]:
    """Two jobs that feed each other."""
    there, back = dataset("loop", "there"), dataset("loop", "back")
    return [
        event("COMPLETE", "07:00:00", 20, "going", inputs=[back], outputs=[there]),
        event("COMPLETE", "07:00:00", 21, "coming", inputs=[there], outputs=[back]),
    ]
