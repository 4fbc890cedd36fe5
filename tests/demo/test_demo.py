"""The demo as a whole: the real platform with a lab on it, verified, broken and ended."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from stack.platform import Platform
from stack.platform import eventually as eventually_within

PATIENCE_S = 240  # on a machine that is busy with other things


def eventually(holds: Callable[[], bool]) -> None:
    eventually_within(holds, PATIENCE_S)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    platform = Platform(tmp_path_factory.mktemp("demo"))
    yield platform
    platform.run("down")


def states(platform: Platform) -> dict[str, str]:
    """The last state of every job that the lineage server knows."""
    url = platform.variables()["OPENLINEAGE_URL"]
    jobs = httpx.get(f"{url}/api/v1/jobs", params={"limit": 100}, timeout=120).json()["jobs"]
    return {job["name"]: (job["latestRun"] or {}).get("state", "") for job in jobs}


def run_id(platform: Platform, job: str) -> str:
    url = platform.variables()["OPENLINEAGE_URL"]
    answer: Any = httpx.get(f"{url}/api/v1/namespaces/default/jobs/{job}", timeout=120).json()
    return str(answer["latestRun"]["id"])


def test_once_verifies_the_whole_lineage(tmp_path: Path) -> None:
    alone = Platform(tmp_path)
    done = alone.run("demo", "--once", "--free-ports", "--limit", "500", limit_s=550)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✕ wrong" not in done.stdout
    # From the batch table back to the topic's field.
    row = next(line for line in done.stdout.splitlines() if "table:supplier_stats.total_p" in line)
    assert row.split()[-1] == "orders.price"
    assert alone.processes() == []


@pytest.fixture(scope="module")
def running(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A demo in the background; the file with what it says."""
    log = tmp_path_factory.mktemp("log") / "demo.log"
    with log.open("w") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "headwater.cli.main", "demo", "--free-ports"],
            env=platform.environ,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(lambda: child.poll() is not None or "everything is deployed" in log.read_text())
        assert child.poll() is None, log.read_text()
        yield log
        child.send_signal(signal.SIGINT)
        assert child.wait(120) == 0, log.read_text()
        assert platform.processes() == []
    finally:
        child.kill()


def test_what_is_broken_is_noticed_and_mended(platform: Platform, running: Path) -> None:
    verified = platform.run("demo", "verify", "--limit", "200")
    assert verified.returncode == 0, verified.stdout + verified.stderr

    assert platform.run("demo", "break", "stop").returncode == 0
    eventually(lambda: states(platform)["supplier-stats"] == "ABORTED")
    assert platform.run("demo", "mend").returncode == 0
    eventually(lambda: states(platform)["supplier-stats"] == "RUNNING")

    assert platform.run("demo", "break", "poison").returncode == 0
    readers = ("iceberg-ingestion", "orders-s3-sink", "supplier-stats")
    eventually(lambda: {states(platform)[name] for name in readers} == {"FAILED"})
    wrong = platform.run("demo", "verify")
    assert wrong.returncode == 1
    told = [line.split() for line in wrong.stdout.splitlines() if "✕ wrong" in line]
    assert {(row[2], row[3], row[-1]) for row in told} >= {
        ("state", name, "FAILED") for name in readers
    }
    assert "topic orders, partition 0, offset" in wrong.stderr
    assert platform.run("demo", "mend").returncode == 0
    eventually(lambda: {states(platform)[name] for name in readers} == {"RUNNING"})


def test_a_total_is_traced_to_messages_that_add_up_to_it(platform: Platform, running: Path) -> None:
    table, row = "default.supplier_stats", "total_count > 0"
    eventually(lambda: states(platform).get("supplier_stats") == "COMPLETED")
    told = platform.run("why", table, row, "--limit", "1", "--records", "--json")
    assert told.returncode == 0, told.stderr
    story = json.loads(told.stdout)["rows"][0]
    assert story["records"]["exact"], story["records"]["reason"]
    records = [record for one in story["records"]["rows"] for record in one["records"]]
    cents = Decimal("0.01")
    prices = [
        Decimal(str(one["message"]["price"])).quantize(cents, ROUND_HALF_UP) for one in records
    ]
    assert (sum(prices), len(prices)) == (
        Decimal(story["values"]["total_price"]), story["values"]["total_count"],
    )  # fmt: skip
    first = records[0]
    place = f"{first['topic']}/{first['partition']}@{first['offset']}"
    written = platform.run("why-not", "default.orders", "--record", place)
    assert "default.orders: written" in written.stdout, written.stdout + written.stderr


def test_killed_worker_comes_back_with_new_runs(platform: Platform, running: Path) -> None:
    before = run_id(platform, "orders-s3-sink")
    restarts = platform.service("worker")["restarts"]
    assert platform.run("demo", "break", "worker").returncode == 0
    eventually(lambda: run_id(platform, "orders-s3-sink") != before)
    eventually(lambda: platform.service("worker")["status"] == "healthy")
    assert platform.service("worker")["restarts"] == restarts + 1
    eventually(lambda: states(platform)["orders-s3-sink"] == "RUNNING")


def test_new_field_reaches_the_topic_while_all_goes_on(platform: Platform, running: Path) -> None:
    assert platform.run("demo", "break", "schema").returncode == 0
    url = platform.variables()["OPENLINEAGE_URL"]
    kafka = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
    path = f"{url}/api/v1/namespaces/kafka%3A%2F%2F{kafka}/datasets/orders"

    def has_currency() -> bool:
        fields = httpx.get(path, timeout=120).json()["fields"]
        return "currency" in {field["name"] for field in fields}

    eventually(has_currency)
    sinks = ("iceberg-ingestion", "orders-s3-sink", "supplier-stats")
    eventually(lambda: {states(platform)[name] for name in sinks} == {"RUNNING"})
