"""Every way to end, of streams, foreachBatch, batch writes and drivers, as a server is told it."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from capture.java import jar_of
from capture.kinds import Check, runs
from capture.lifecycle import TABLE, Ending, cell, events, of_job
from capture.processes import Application, python, running
from capture.waiting import until
from headwater.cli.submit import conf_options
from server.process import ServerProcess

WAYS = {
    "analysis": "analysis error",
    "udf": "a Python function raises",
    "function": "the function of `foreachBatch` raises",
    "stillborn": "fails before the first micro-batch",
    "done": "`availableNow` has finished, the write is done",
    "stop": "`query.stop()`, `cancelAllJobs()`; the queries start again, `availableNow`",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    home = tmp_path_factory.mktemp("server")
    with ServerProcess(f"sqlite:///{home}/lineage.db", home / "log") as server:
        yield server


@pytest.fixture
def told(pytestconfig: pytest.Config) -> Any:
    """Compares a row with the page, or writes it there."""

    def compare(row: Ending) -> None:
        renewing = pytestconfig.getoption("--renew-lifecycle")
        if renewing and not row.agrees_with(TABLE.rows().get(row.words, [])):
            TABLE.renew(row.words, *row.told)
        assert row.agrees_with(TABLE.rows().get(row.words, []))

    return compare


def jobs(server: ServerProcess, namespace: str, way: str = "") -> list[list[dict[str, Any]]]:
    """The events of the streaming query, of foreachBatch, of the batch write."""
    found = events(server.api)
    names = (f"{way}streaming", f"{way}each", f"_{way.strip('.')}_batch" if way else "_batch")
    return [of_job(found, namespace, name) for name in names]


def application(server: ServerProcess, namespace: str) -> list[dict[str, Any]]:
    return [
        e
        for e in events(server.api)
        if e["job"]["namespace"] == namespace and e["job"]["name"] == "test_app"
    ]


def test_what_ends_by_itself(tmp_path: Path, server: ServerProcess, told: Any) -> None:
    with running(tmp_path, server.url, *python("ways.py"), OPENLINEAGE_NAMESPACE="ways") as app:
        until(
            lambda: all(_has_output(e) for e in jobs(server, "ways", "stop.")[:2]) or app.over(),
            300,
            app.text,
        )
        (tmp_path / "seen").touch()
        assert app.exit_code() == 0, app.text()
    for way, words in WAYS.items():
        cells = [cell(events) for events in jobs(server, "ways", f"{way}.")]
        told(Ending(words, (*cells, "continues")))


def _has_output(told: list[dict[str, Any]]) -> bool:
    return any(event["outputs"] for event in told)


def under_way(app: Application, server: ServerProcess, namespace: str) -> None:
    """Wait until both queries and the write are known with their outputs."""
    app.wait_until_ready()
    until(lambda: all(map(_has_output, jobs(server, namespace))), 120, app.text)


@pytest.mark.parametrize(
    ("how", "words", "code"),
    [
        ("end", "the script ends", 0),
        ("exit", "`sys.exit(3)`", 3),
        ("raise", "an uncaught exception", 1),
        ("stop", "`spark.stop()`", 0),
        ("kill the jvm", "the JVM is killed", 0),
        ("terminate the jvm", "the JVM is ended by SIGTERM", 0),
    ],
)
def test_end_of_the_driver(
    tmp_path: Path, server: ServerProcess, told: Any, how: str, words: str, code: int
) -> None:
    namespace = how.replace(" ", "-")
    more = {"OPENLINEAGE_NAMESPACE": namespace}
    with running(tmp_path, server.url, *python("matrix.py", how), **more) as app:
        under_way(app, server, namespace)
        app.go()
        assert app.exit_code() == code, app.text()
    told(_row(server, namespace, f"{words}, exit code {code}"))
    last = application(server, namespace)[-1]["run"]["facets"]
    if how == "raise":
        assert last["errorMessage"]["message"] == "ValueError: no more of this"
    if how == "kill the jvm":
        assert "JVM ended with code -9" in last["errorMessage"]["message"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_signal(tmp_path: Path, server: ServerProcess, told: Any, number: signal.Signals) -> None:
    more = {"OPENLINEAGE_NAMESPACE": number.name}
    with running(tmp_path, server.url, *python("matrix.py", "wait"), **more) as app:
        under_way(app, server, number.name)
        app.signal(number)
        code = app.exit_code()
        assert code == -number or number is signal.SIGINT, app.text()
    told(_row(server, number.name, number.name))
    last = application(server, number.name)[-1]["run"]["facets"]
    assert number.name in last["errorMessage"]["message"]


@pytest.fixture(scope="module")
def jar(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jar_of(spark, "Matrix.java", tmp_path_factory.mktemp("jar") / "matrix.jar")


@pytest.mark.parametrize(
    ("how", "words", "code"),
    [
        ("end", "its main method returns, exit code 0", 0),
        ("exit", "`System.exit(3)`, exit code 3", 3),
        ("raise", "its main method throws an exception, exit code 1", 1),
        ("stop", "`spark.stop()`, exit code 0", 0),
        ("kill the jvm", "the JVM is killed, exit code 137", 137),
        ("SIGTERM", "SIGTERM", -signal.SIGTERM),
    ],
)
def test_end_of_a_jvm_application(
    tmp_path: Path,
    server: ServerProcess,
    told: Any,
    kind: Check,
    jar: Path,
    how: str,
    words: str,
    code: int,
) -> None:
    namespace = f"jvm-{how.replace(' ', '-')}"
    more = {"OPENLINEAGE_NAMESPACE": namespace}
    with running(tmp_path, server.url, *java(jar, how), **more) as app:
        under_way(app, server, namespace)
        if how == "SIGTERM":
            app.signal(signal.SIGTERM)
        if how == "kill the jvm":
            for process in psutil.Process(app.process.pid).children():
                process.kill()
        app.go()
        assert app.exit_code() == code, app.text()
    if how != "kill the jvm":  # capture may be in the middle of a question to it
        assert "capture failed" not in (tmp_path / "log").read_text(), app.text()
    told(_row(server, namespace, f"JVM application: {words}"))
    found = [event for event in events(server.api) if event["job"]["namespace"] == namespace]
    last = application(server, namespace)[-1]["run"]["facets"]
    # What is over at once, in a session that the application made: its write, and its query.
    assert cell(of_job(found, namespace, "_short")) in ("START COMPLETE", "START RUNNING COMPLETE")
    assert cell(of_job(found, namespace, "brief")) == "START RUNNING COMPLETE"
    short = of_job(found, namespace, "_short")[-1]["outputs"][0]["facets"]["columnLineage"]
    assert short["fields"]["doubled"]["inputFields"][0]["field"] == "price"
    kind("JVM application: `df.write` in a new session", *runs(found, "/short"))
    kind("JVM application: streaming query", *runs(found, "/brief"))
    if how == "end":
        kind(
            "JVM application: streaming query with `foreachBatch`, until the end",
            *runs(found, "/each"),
        )
    if how == "exit":  # right after its last write
        assert of_job(found, namespace, "_last")[-1]["eventType"] == "COMPLETE"
    if how == "stop":
        second = of_job(found, namespace, "_second")[-1]
        assert second["eventType"] == "COMPLETE"
        assert second["run"]["facets"]["parent"]["job"]["name"] == "second_app"
        assert cell(of_job(found, namespace, "second_app")) == "START COMPLETE"
    if how == "raise":
        message = "java.lang.IllegalStateException: no more of this"
        assert last["errorMessage"]["message"] == message
        assert f'Exception in thread "main" {message}' in (tmp_path / "log").read_text()


def java(jar: Path, how: str) -> tuple[str, ...]:
    """A JVM application under `headwater submit`."""
    conf = {
        "spark.driver.memory": "700m",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.headwater.flushSeconds": "60",
    }
    options = ("--master", "local[2]", *conf_options(conf), "--class", "example.Matrix", str(jar))
    wait = {"kill the jvm": "wait", "SIGTERM": "wait"}
    return (sys.executable, "-m", "headwater.cli.main", "submit", *options, wait.get(how, how))


def test_killed_driver_is_ended_by_its_lease(
    tmp_path: Path, server: ServerProcess, told: Any
) -> None:
    more = {
        "OPENLINEAGE_NAMESPACE": "SIGKILL",
        "HEADWATER_LEASE_SECONDS": "30",
        "HEADWATER_HEARTBEAT_SECONDS": "1",
    }
    with running(tmp_path, server.url, *python("matrix.py", "wait"), **more) as app:
        under_way(app, server, "SIGKILL")
        app.signal(signal.SIGKILL)
        assert app.exit_code() == -signal.SIGKILL
    runs = [*jobs(server, "SIGKILL"), application(server, "SIGKILL")]
    assert all(told_of[-1]["eventType"] != "ABORT" for told_of in runs)
    ids = [told_of[0]["run"]["runId"] for told_of in runs]
    until(lambda: all(_state(server, run) == "ABORTED" for run in ids), 120, server.log)
    told(_row(server, "SIGKILL", "SIGKILL; the server ends the leases"))


def test_a_second_context_is_reported_once(tmp_path: Path, server: ServerProcess) -> None:
    with running(tmp_path, server.url, *python("again.py"), OPENLINEAGE_NAMESPACE="again") as app:
        assert app.exit_code() == 0, app.text()
    told = [event for event in events(server.api) if event["job"]["namespace"] == "again"]
    for name in ("first", "second", "first_b", "second_b"):
        found = [event for event in told if event["job"]["name"].endswith(name)]
        assert cell(found) == "START RUNNING COMPLETE" or (
            name.endswith("_b") and cell(found) == "START COMPLETE"
        )
        assert len({event["run"]["runId"] for event in found}) == 1


def _state(server: ServerProcess, run: str) -> str:
    return str(server.api.get(f"/jobs/runs/{run}")["state"])


def _row(server: ServerProcess, namespace: str, words: str) -> Ending:
    cells = [cell(told) for told in jobs(server, namespace)]
    return Ending(words, (*cells, cell(application(server, namespace))))


def test_failure_is_never_followed_by_anything(server: ServerProcess) -> None:
    """Of all that the tests above have told the server."""
    ended: set[str] = set()
    for event in events(server.api):
        run = event["run"]["runId"]
        assert run not in ended, event
        if event["eventType"] in ("COMPLETE", "FAIL", "ABORT"):
            ended.add(run)
