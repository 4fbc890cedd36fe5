"""`headwater reached`: records of a topic, followed."""

from collections.abc import Iterator

import pytest

from cli.lab import KAFKA, LAKE, Lab, dataset, event, running_lab, uuid


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A sink that reported two commits, a window with state, and a batch job behind the sink."""
    topic, table = dataset(KAFKA, "orders"), dataset(LAKE, "default/orders")
    commits = [
        {"batch": 7, "snapshot": "100", "sequence": 1, "offsets": {"orders": {"0": [0, 50]}}},
        {"batch": 8, "snapshot": "200", "sequence": 2, "offsets": {"orders": {"0": [50, 90]}}},
    ]
    progress = {"commits": commits, "snapshots": ["100", "200"]}
    window = {"commits": [{"batch": 1, "offsets": {"orders": {"0": [0, 90]}}}], "stateRows": 3}
    with running_lab(tmp_path_factory.mktemp("records")) as lab:
        lab.tell(
            event("START", "08:00:00", 1, "sink", inputs=[topic], outputs=[table], stream=True),
            event("RUNNING", "08:01:00", 1, "sink", stream=True, headwater_progress=progress),
            event("START", "08:00:00", 2, "windows", inputs=[topic],
                  outputs=[dataset(KAFKA, "stats")], stream=True),
            event("RUNNING", "08:01:00", 2, "windows", stream=True, headwater_progress=window),
            event("COMPLETE", "09:00:00", 3, "daily", inputs=[table],
                  outputs=[dataset(LAKE, "default/daily")]),
        )  # fmt: skip
        yield lab


def test_records_are_shown_with_all_that_they_reached(stream: Lab) -> None:
    done = stream.ask("reached", "topic:orders", "--offsets", "60-80")
    assert done.returncode == 0, done.stderr
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == [
        "STEP",
        "JOB",
        "RUNS",
        "STATE",
        "RECORDS",
        "OUTPUT",
        "SINCE",
        "(UTC)",
        "SNAPSHOTS",
    ]
    assert [(row[0], row[1]) for row in rows] == [("1", "sink"), ("1", "windows"), ("2", "daily")]
    assert "batch" in rows[0]
    assert rows[0][-1] == "200"
    assert "windows: it keeps state" in done.stderr
    assert "daily: which records it read is not reported" in done.stderr


def test_a_program_reads_the_same(stream: Lab) -> None:
    told = stream.json("reached", "topic:orders", "--offsets", "10")
    assert (told["firstOffset"], told["lastOffset"], told["complete"]) == (10, 10, True)
    sink = next(job for job in told["jobs"] if job["name"] == "sink")
    assert sink["runs"][0]["runId"] == uuid(1)
    assert sink["outputs"][0]["snapshots"] == ["100"]


def test_a_short_name_means_the_topic(stream: Lab) -> None:
    assert stream.json("reached", "orders", "--offsets", "10") == stream.json(
        "reached", "topic:orders", "--offsets", "10"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--app", "nowhere.py"], "it is not a file"),
        (["--app", "a.py", "--sql", "SELECT 1"], "--app and --sql cannot be combined"),
        (["--time-zone", "Europe/Berlin"], "--time-zone has no effect without"),
        (["--sql", "SELECT 1", "--time-zone", "Berlin"], "--time-zone Berlin is no time zone"),
        (["--sql", "SELECT 1", "--time-zone", "../x"], "--time-zone ../x is no time zone"),
    ],
)
@pytest.mark.parametrize("command", [("why", "a.b", "true"), ("reached", "orders", "--offsets=1")])
def test_wrong_options_are_told_before_spark_starts(
    stream: Lab, command: tuple[str, ...], options: list[str], told: str
) -> None:
    done = stream.ask(*command, *options)
    assert (done.returncode == 0, done.stdout) == (False, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_records_that_nobody_read_are_said_to_be_unread(stream: Lab) -> None:
    done = stream.ask("reached", "topic:orders", "--offsets", "90-99")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no job has reported" in done.stderr
    assert "the partition has been read up to offset 89" in done.stderr
    done = stream.ask("reached", "topic:orders", "--offsets", "0-99")
    assert (done.returncode, "sink" in done.stdout) == (0, True)
    assert "the partition has been read up to offset 89" in done.stderr


@pytest.mark.parametrize(
    ("topic", "partition", "told"),
    [
        ("topic:orders", "7", "Partition '7' not found: runs have read 0 of orders"),
        ("topic:orders", "99999999999", "partition"),
        (f"dataset:{LAKE}:default/orders", "0", "default/orders is not a topic"),
        ("table:default/orders", "0", "default/orders"),
        ("job:sink", "0", "records are followed from a Kafka topic"),
        (f"dataset:{KAFKA}:nothing", "0", "'nothing' not found"),
        ("topic:nothing", "0", "nothing"),
        ("", "0", "the name is empty"),
    ],
)
def test_what_has_no_records_is_an_error_with_what_to_do(
    stream: Lab, topic: str, partition: str, told: str
) -> None:
    done = stream.ask("reached", topic, "--partition", partition, "--offsets", "0-9")
    message, *hints = done.stderr.strip().splitlines()
    assert (done.returncode != 0, told in message, done.stdout) == (True, True, ""), done.stderr
    assert hints


@pytest.mark.parametrize("offsets", ["", "5-4", "a-b", "-3", "1-", "1 - 2", "9" * 40])
def test_a_wrong_range_is_an_error(stream: Lab, offsets: str) -> None:
    done = stream.ask("reached", "topic:orders", f"--offsets={offsets}")
    assert done.returncode == 2
    assert "Give a range such as 1000-2000" in done.stderr
