"""`headwater runs`, `events` and `search`."""

import json
import time
from pathlib import Path

import httpx

from cli.lab import Lab, event, running_lab, uuid
from headwater.cli.output import duration_text

LAPSE = Path(__file__).parents[2] / "docs" / "facets" / "headwater_lapse.json"


def test_runs_shows_the_last_run_of_every_job(lab: Lab) -> None:
    done = lab.ask("runs")
    head, *rows = done.stdout.splitlines()
    assert head.split("  ")[0] == "STATE"
    assert [row.split()[2] for row in rows] == [
        "orders-check", "supplier_stats", "supplier_stats.overwrite", "iceberg-ingestion",
        "orders-source", "coming", "going",
    ]  # fmt: skip
    failed = rows[0].split("  ")
    assert [cell.strip() for cell in failed if cell] == [
        "✕ failed", "orders-check", "2026-11-01 11:00:00", "1 min 15 s", uuid(6), "price is null",
    ]  # fmt: skip


def test_runs_of_one_job_latest_first_and_by_state(lab: Lab) -> None:
    told = lab.json("runs", "check")
    assert [run["id"] for run in told] == [uuid(6), uuid(5)]
    assert told[0]["job"] == {"namespace": "lab", "name": "orders-check"}
    assert told[0]["facets"]["errorMessage"]["message"] == "price is null\n  at check.py:7"
    told = lab.json("runs", "job:lab:orders-check", "--state", "completed")
    assert [run["id"] for run in told] == [uuid(5)]
    assert [run["id"] for run in lab.json("runs", "--state", "running", "--limit", "1")] == [
        uuid(2)
    ]


def test_runs_in_a_state_are_looked_for_among_all_runs(spare_lab: Lab) -> None:
    """Not among the last run of each job: a job that failed and then succeeded has failed."""
    spare_lab.tell(
        event("FAIL", "08:00:00", 40, "recovers"),
        event("COMPLETE", "09:00:00", 41, "recovers"),
    )
    failed = [run["id"] for run in spare_lab.json("runs", "--state", "failed")]
    assert (uuid(40) in failed, uuid(41) in failed) == (True, False)
    assert uuid(41) in [run["id"] for run in spare_lab.json("runs")]


def test_runs_shows_namespaces_when_there_are_several(spare_lab: Lab) -> None:
    other = event("COMPLETE", "09:00:00", 42, "elsewhere")
    other["job"]["namespace"] = "prod"
    spare_lab.tell(event("COMPLETE", "09:00:00", 43, "here"), other)
    assert "NAMESPACE" not in spare_lab.ask("runs", "here").stdout
    head, *rows = spare_lab.ask("runs").stdout.splitlines()
    assert head.split()[:3] == ["STATE", "NAMESPACE", "JOB"]
    told = [row.split()[2:4] for row in rows]
    assert ["prod", "elsewhere"] in told
    assert ["lab", "here"] in told


def test_why_is_the_exception_of_the_users_code(spare_lab: Lab) -> None:
    stack = "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: no price\n"
    failure = {"message": "PythonException: ", "stackTrace": stack}
    spare_lab.tell(event("FAIL", "08:00:00", 44, "python-error", errorMessage=failure))
    assert "ValueError: no price" in spare_lab.ask("runs", "python-error").stdout


def test_why_is_what_the_official_listener_or_failed_checks_tell(spare_lab: Lab) -> None:
    failure = {"message": "disk is full\nat x", "stackTrace": "java.io.IOException: disk is full"}
    told = [{"assertion": "unique", "success": False, "column": "id"},
            {"assertion": "not_null", "success": True, "column": "id"}]  # fmt: skip
    tested = {"namespace": "db", "name": "t",
              "inputFacets": {"dataQualityAssertions": {"assertions": told}}}  # fmt: skip
    spark_error = event("FAIL", "08:00:00", 45, "spark-error")
    spark_error["run"]["facets"]["spark.exception"] = failure
    spare_lab.tell(
        spark_error,
        event("FAIL", "08:00:00", 46, "tests") | {"inputs": [tested]},
    )
    assert "disk is full" in spare_lab.ask("runs", "spark-error").stdout
    assert "failed checks: unique (id)" in spare_lab.ask("runs", "tests").stdout


def test_a_job_shows_the_jobs_that_it_starts(spare_lab: Lab) -> None:
    above = {"run": {"runId": uuid(50)}, "job": {"namespace": "lab", "name": "dag"}}
    spare_lab.tell(
        event("COMPLETE", "08:00:00", 51, "dag.first", parent=above),
        event("FAIL", "08:01:00", 52, "dag.second", parent=above),
        event("COMPLETE", "08:02:00", 50, "dag"),
    )
    shown = spare_lab.ask("runs", "dag", "--children").stdout.splitlines()
    assert [line.split()[1:3] for line in shown[1:]] == [
        ["completed", "dag.first"], ["failed", "dag.second"],
    ]  # fmt: skip
    assert "this job starts dag.first, dag.second" in spare_lab.ask("lineage", "job:lab:dag").stderr
    done = spare_lab.ask("runs", "--children")
    assert (done.returncode, "--children needs a job" in done.stderr) == (2, True)


def test_runs_of_an_unknown_job_fail_and_a_wrong_state_is_a_usage_error(lab: Lab) -> None:
    done = lab.ask("runs", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no job has 'nowhere' in its name" in done.stderr
    assert lab.ask("runs", "--state", "tired").returncode == 2


def test_a_run_that_fell_silent_is_shown_with_the_reason(spare_lab: Lab) -> None:
    lease = {"seconds": 0.2}
    spare_lab.tell(event("START", "08:00:00", 32, "silent", headwater_lease=lease))
    deadline = time.monotonic() + 180
    while (done := spare_lab.ask("runs", "silent")).stdout.count("■ aborted") == 0:
        assert time.monotonic() < deadline, done.stdout
        time.sleep(0.1)
    assert "no event of the run arrived for 0.2 s" in done.stdout
    last = spare_lab.ask("events", "--run", uuid(32), "--limit", "1", "--json")
    facet = json.loads(last.stdout)["run"]["facets"]["headwater_lapse"]
    schema = json.loads(LAPSE.read_text())
    assert facet.keys() == schema["properties"].keys()
    assert facet["_schemaURL"] == schema["$id"]


def test_events_are_one_line_each_latest_first(lab: Lab) -> None:
    done = lab.ask("events", "--run", uuid(4))
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["TIME", "TYPE", "JOB", "RUN", "IN", "OUT"]
    assert rows == [
        ["2026-11-01T09:00:31.5Z", "COMPLETE", "supplier_stats.overwrite", uuid(4), "1", "1"],
        ["2026-11-01T09:00:01Z", "START", "supplier_stats.overwrite", uuid(4), "0", "0"],
    ]


def test_events_between_two_times(lab: Lab) -> None:
    window = ("--after", "2026-11-01T10:00:00+01:00", "--before", "2026-11-01T10:00:00Z")
    rows = lab.ask("events", *window).stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [
        "2026-11-01T09:00:40Z", "2026-11-01T09:00:31.5Z", "2026-11-01T09:00:01Z",
        "2026-11-01T09:00:00Z",
    ]  # fmt: skip
    done = lab.ask("events", "--before", "9999d")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no events\n")


def test_a_bad_time_and_a_bad_run_id_are_usage_errors(lab: Lab) -> None:
    done = lab.ask("events", "--after", "yesterday")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --after: 'yesterday' is not an ISO 8601 time")
    done = lab.ask("events", "--run", "seven")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --run: 'seven' is not a run id")


def test_events_as_json_are_the_bytes_that_came_one_a_line(spare_lab: Lab) -> None:
    flat = json.dumps(event("START", "08:00:00", 31, "früh")).replace('"run"', '"x" : 1.50, "run"')
    dataset = '{"eventTime":"2026-11-01T09:00:00Z","dataset":{"namespace":"file","name":"a"}}'
    spread = json.dumps(event("COMPLETE", "10:00:00", 31, "früh"), indent=2)
    bodies = [body.replace("2026-11-01", "2020-02-02") for body in (flat, dataset, spread)]
    for body in bodies:
        spare_lab.tell_raw(body)
    day = ("events", "--before", "2020-02-03")
    last, *earlier = spare_lab.ask(*day, "--json").stdout.splitlines()
    assert earlier == [bodies[1], bodies[0]]
    assert json.loads(last) == json.loads(bodies[2])
    table = spare_lab.ask(*day).stdout.splitlines()
    assert table[2].split() == ["2020-02-02T09:00:00Z", "DATASET", "a", "-", "0", "0"]


def test_search_finds_jobs_datasets_and_columns_nearest_first(lab: Lab) -> None:
    rows = [line.split() for line in lab.ask("search", "supplier").stdout.splitlines()]
    assert rows[0] == ["KIND", "NAME", "NODE"]
    assert [row[0] for row in rows[1:]] == [*["column"] * 3, "job", "job", "dataset"]
    assert ["job", "supplier_stats", "job:lab:supplier_stats"] in rows


def test_search_for_one_kind(lab: Lab) -> None:
    told = lab.json("search", "price", "--kind", "column")
    assert {one["nodeId"] for one in told} == {
        "datasetField:kafka://broker:9092:orders:price",
        "datasetField:s3://warehouse:default/orders:price",
    }
    assert len(lab.json("search", "price", "--kind", "column", "--limit", "1")) == 1


def test_search_that_finds_nothing_says_so_on_stderr(lab: Lab) -> None:
    done = lab.ask("search", "nowhere")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no name contains 'nowhere'\n"


def test_lengths_of_time_are_told_in_two_units() -> None:
    told = [duration_text(s) for s in (0.25, 59.94, 60, 3599, 3600, 86_399, 86_400)]
    assert told == [
        "250 ms", "59.9 s", "1 min 00 s", "59 min 59 s", "1 h 00 min", "23 h 59 min", "1 d 00 h",
    ]  # fmt: skip


def test_no_facet_that_a_producer_sends_stops_a_command(tmp_path: Path) -> None:
    odd = [{}, [], 1, True, None, "x", {"message": {}}, {"message": ["x"]}, {"message": 7}]
    odd += [{"message": "gone", "stackTrace": {}}, {"reason": {}}, {"reason": 1}]
    told = [
        event(kind, "08:00:00", 700 + 2 * number + (kind == "ABORT"), f"odd-{kind}-{number}",
              errorMessage=value, headwater_lapse=value, headwater_progress=value,
              spark_properties=value)
        for number, value in enumerate(odd) for kind in ("FAIL", "ABORT")
    ]  # fmt: skip
    with running_lab(tmp_path) as lab:
        where = f"{lab.url}/api/v1/lineage"  # not every one is accepted
        stored = [one for one in told if httpx.post(where, json=one).status_code == 201]
        assert len(stored) > len(odd)
        for command in ("runs", "events", "diff"):
            done = lab.ask(command)
            assert done.returncode == 0, (command, done.stderr)
        assert len(lab.json("runs", "--limit", "1000")) == len(stored)
        assert lab.ask("runs", str(stored[0]["job"]["name"])).returncode == 0
