"""A Scala application under `headwater submit`: RDDs, and typed datasets."""

import sys
from pathlib import Path

from capture.kinds import Check, Event, runs
from capture.processes import running
from capture.receiver import Receiver
from capture.scala import jar_of_scala
from headwater.cli.submit import conf_options

CONF = {
    "spark.driver.memory": "700m",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.headwater.flushSeconds": "60",
}
ROWS = {
    "JVM application: `rdd.saveAsTextFile` of text files": "/counts",
    "JVM application: `rdd.saveAsTextFile` that fails": "/never",
    "JVM application: `rdd.saveAsTextFile` of a dataset's rows": "/prices",
    "Scala application: `Dataset.write`": "/orders",
    "Scala application: a Scala function in `Dataset.map`": "/doubled",
    "Scala application: `Dataset.filter` and columns": "/totals",
    "Scala application: `localCheckpoint()`": "/cut",
    "Scala application: a checkpoint of a checkpoint": "/twice",
    "Scala application: `localCheckpoint(eager = false)`": "/later",
    "Scala application: `createDataFrame(df.rdd, …)`": "/again",
    "Scala application: `sc.textFile(…).toDF()`": "/lines",
}


def test_scala_application_is_captured(tmp_path: Path, receiver: Receiver, kind: Check) -> None:
    jar = jar_of_scala("Words.scala", tmp_path / "words.jar")
    options = ("--master", "local[1]", *conf_options(CONF), "--class", "example.Words", str(jar))
    command = (sys.executable, "-m", "headwater.cli.main", "submit", *options)
    with running(tmp_path, receiver.url, *command) as app:
        assert app.exit_code() == 0, app.text()
    assert "capture failed" not in (tmp_path / "log").read_text(), app.text()
    for words, output in ROWS.items():
        (run,) = runs(receiver.events, output)
        kind(words, run)
        assert run[0]["run"]["facets"]["parent"]["job"]["name"] == "words"
    assert receiver.types("words") == ["START", "COMPLETE"]
    assert [note["kind"] for note in _notes(receiver, "/later")] == ["unknown"]
    assert {note["kind"] for note in _notes(receiver, "/again")} == {"opaque", "unknown"}
    assert {note["kind"] for note in _notes(receiver, "/lines")} == {"opaque"}
    for loader in ("none", "system", "own"):
        assert (tmp_path / f"loader_{loader}" / "_SUCCESS").exists(), app.text()
        (run,) = runs(receiver.events, f"/loader_{loader}")
        assert [event["eventType"] for event in run if event["eventType"] != "RUNNING"] == [
            "START",
            "COMPLETE",
        ]


def _notes(receiver: Receiver, output: str) -> list[Event]:
    """What a run says that could not be seen into."""
    (run,) = runs(receiver.events, output)
    notes: list[Event] = run[-1]["run"]["facets"]["headwater_capture"]["notes"]
    return notes
