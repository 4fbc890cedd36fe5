"""The lab under load and random faults, and an exact count at the end, on a page.

    python benchmarks/soak.py [--minutes 30] [--rate 1000] [--seed N] [--out docs/benchmarks/soak.md]

Every minute one fault: a service killed with SIGKILL (worker, server, broker, registry), the
lineage server frozen for 20 s, the same with a spool on a full disk, the schema of orders changed
and changed back, or a sink deployed again. All the while a witness sends events of its own. At the
end the source is stopped, the sinks catch up, and everything is counted by clients without Spark.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import httpx
import psutil
from botocore.client import Config
from confluent_kafka import Consumer, TopicPartition
from pyiceberg.catalog import load_catalog

from headwater.cli.connect import Connect
from headwater.cli.demo import breaks
from headwater.cli.demo.labs import connector
from headwater.errors import HeadwaterError
from headwater.stack import State, environment, running

HERE = Path(__file__).parent
SINKS = ("iceberg-ingestion", "orders-s3-sink")
FROZEN_S = 20
WORKER_MB = 1200  # what docs/pipeline.md promises for the lab at 1,000 orders/s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/benchmarks/soak.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        soak = Soak(Path(folder), options.rate, random.Random(options.seed))
        try:
            soak.start()
            soak.run(options.minutes * 60)
            soak.finish()
        finally:
            soak.close()
    text = soak.report(options.minutes, options.rate, options.seed)
    options.out.write_text(text)
    print(text)
    return 0 if soak.right else 1


class Soak:
    """One demo, its faults and its counts."""

    def __init__(self, home: Path, rate: int, dice: random.Random) -> None:
        self.home, self.rate, self.dice = home, rate, dice
        self.spool = home / "spool"
        self.environ = {
            **os.environ, "HEADWATER_HOME": str(home), "HEADWATER_SPOOL_DIR": str(self.spool),
        }  # fmt: skip
        self.witness = Witness(self.server_url)
        self.faults: list[tuple[float, str]] = []
        self.memory: list[tuple[float, dict[str, float]]] = []
        self.counts: dict[str, int] = {}
        self.runs: dict[str, int] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self.began = 0.0

    def start(self) -> None:
        command = [sys.executable, "-m", "headwater.cli.main", "demo", "--free-ports"]
        self.process = subprocess.Popen(command, env=self.environ)
        self.patiently(lambda: "supplier_stats" in self.worker().statuses(), 300)
        faster = {**connector("orders-source"), "rows.per.second": str(self.rate)}
        self.patiently(lambda: self.worker().configure("orders-source", faster))
        self.began = time.monotonic()
        self.witness.start()

    def run(self, seconds: float) -> None:
        names = [name for name in dir(self) if name.startswith("fault_")]
        while time.monotonic() - self.began < seconds:
            time.sleep(30)
            self.measure()
            name = self.dice.choice(names)
            what = self.patiently(getattr(self, name), 60)
            self.faults.append((time.monotonic() - self.began, str(what)))
            print(f"{self.faults[-1][0]:6.0f} s  {what}", flush=True)
            time.sleep(30)
            self.measure()

    def fault_kill_worker(self) -> str:
        return breaks.worker_killed(self.state(), "")

    def fault_kill_server(self) -> str:
        return self.kill("server")

    def fault_kill_broker(self) -> str:
        return self.kill("kafka")

    def fault_kill_registry(self) -> str:
        return self.kill("registry")

    def fault_freeze_server(self) -> str:
        pid = self.state().services["server"].pid
        assert pid is not None
        os.kill(pid.number, signal.SIGSTOP)
        time.sleep(FROZEN_S)
        os.kill(pid.number, signal.SIGCONT)
        return f"the lineage server was frozen for {FROZEN_S} s"

    def fault_fill_spool(self) -> str:
        """Every write to the spool fails as on a full disk, while nothing can be delivered."""
        planted = [
            folder / f"{number:012d}-{kind}.part"
            for folder in self.spool.iterdir()
            for number in range(20_000)
            for kind in "eh"
        ]
        for path in planted:
            path.symlink_to("/dev/full")
        self.fault_freeze_server()
        for path in planted:
            path.unlink(missing_ok=True)
        return f"the spool's disk was full and the lineage server frozen for {FROZEN_S} s"

    def fault_change_schema(self) -> str:
        breaks.schema(self.state(), "")
        time.sleep(10)
        faster = {**connector("orders-source"), "rows.per.second": str(self.rate)}
        self.worker().configure("orders-source", faster)
        return "orders had one field more for 10 s"

    def fault_redeploy_sink(self) -> str:
        name = self.dice.choice(SINKS)
        self.worker().delete(name)
        self.worker().configure(name, connector(name))
        return f"{name} was deleted and deployed again"

    def kill(self, service: str) -> str:
        pid = self.state().services[service].pid
        assert pid is not None
        os.kill(pid.number, signal.SIGKILL)
        return f"{service} was killed"

    def finish(self) -> None:
        """Stop the source, let the sinks catch up, and count."""
        self.patiently(lambda: self.worker().set_target_state("orders-source", "stop"))
        count = self.settled()
        for sink in SINKS:
            self.patiently(lambda sink=sink: self.worker().position(sink) == count, 300)
        self.counts = {"in the topic": count, **self.counted()}
        self.runs = self.ended_runs()
        self.witness.finish()

    def counted(self) -> dict[str, int]:
        """What clients without Spark find: PyIceberg in the table, boto3 in the archive."""
        variables = environment(self.state())
        s3 = {
            "endpoint": variables["AWS_ENDPOINT_URL"],
            "access-key-id": variables["AWS_ACCESS_KEY_ID"],
            "secret-access-key": variables["AWS_SECRET_ACCESS_KEY"],
            "region": variables["AWS_REGION"],
        }
        found = {"in the table": in_the_table(variables["HIVE_METASTORE_URI"], s3)}
        found["in the archive"] = in_the_archive(s3)
        return {
            what: count
            for where, orders in found.items()
            for what, count in (
                (where, len(orders)), (f"different ones {where}", len(set(orders))),
            )
        }  # fmt: skip

    def ended_runs(self) -> dict[str, int]:
        """How the runs of the streaming jobs ended, as the lineage server tells."""
        url = self.server_url()
        found: dict[str, int] = {}
        for job in ("orders-source", *SINKS, "supplier-stats"):
            path = f"{url}/api/v1/namespaces/default/jobs/{job}/runs"
            answer = httpx.get(path, params={"limit": 1000}, timeout=60).json()
            for run in answer["runs"]:
                found[run["state"]] = found.get(run["state"], 0) + 1
        return found

    @property
    def right(self) -> bool:
        """Whether orders, runs and events are all there, and the worker kept to its memory."""
        told = set(self.counts.values())
        # The three jobs that still run; the source is stopped.
        running = self.runs.get("RUNNING", 0)
        complete = len(told) == 1 and running == 3 and not self.witness.missing
        return complete and self.worker_mb <= WORKER_MB

    @property
    def worker_mb(self) -> float:
        """What the worker held at most, Python and Java together."""
        return max(sizes.get("worker", 0) for _, sizes in self.memory)

    def settled(self) -> int:
        before, now = -1, self.topic_count()
        while now != before:
            time.sleep(3)
            before, now = now, self.topic_count()
        return now

    def topic_count(self) -> int:
        servers = self.state().services["kafka"].address
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "soak"})
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition("orders", 0), 30)
            return int(high - low)
        finally:
            consumer.close()

    def measure(self) -> None:
        sizes = {}
        for name in ("worker", "server", "kafka"):
            pid = self.state().services[name].pid
            process = pid.process() if pid else None
            if process is not None:
                family = [process, *process.children(recursive=True)]
                try:
                    sizes[name] = sum(one.memory_info().rss for one in family) / 2**20
                except psutil.Error:
                    continue
        self.memory.append((time.monotonic() - self.began, sizes))

    def server_url(self) -> str:
        return environment(self.state())["OPENLINEAGE_URL"]

    def state(self) -> State:
        return running(self.home)

    def worker(self) -> Connect:
        return Connect(self.state().services["worker"].address)

    def patiently(self, action: Any, limit_s: float = 120) -> Any:
        """Try until it works: what was killed a moment ago is not back yet."""
        end = time.monotonic() + limit_s
        while True:
            assert self.process is not None
            assert self.process.poll() is None, "the demo has ended"
            try:
                found = action()
            except (HeadwaterError, AssertionError, OSError, KeyError, psutil.Error) as error:
                found, why = False, str(error)
            else:
                why = "not yet"
            if found is not False:
                return found
            if time.monotonic() > end:
                raise TimeoutError(why)
            time.sleep(1)

    def close(self) -> None:
        self.witness.stopped.set()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(90)

    def report(self, minutes: float, rate: int, seed: int) -> str:
        verdict = "no order was lost or duplicated" if self.right else "**something is wrong**"
        lines = [
            "# Benchmark: faults under load",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {minutes:g} minutes at {rate} "
            f"orders/s, one fault a minute (seed {seed}): {verdict}. Written by `make soak`.",
            "",
            "The table is read by PyIceberg and the archive's objects by boto3, without Spark.",
            "",
            *("| Orders | |", "|---|---:|"),
            *(f"| {what} | {count:,} |" for what, count in self.counts.items()),
            "",
            *("| Runs of the four streaming jobs | |", "|---|---:|"),
            *(f"| {state} | {count} |" for state, count in sorted(self.runs.items())),
            "",
            f"Of {self.witness.told:,} events that a test client sent, the server acknowledged "
            f"{len(self.witness.acknowledged):,}; {len(self.witness.missing)} of these are missing.",
            "",
            f"The worker held {self.worker_mb:,.0f} MB at most, Python and Java together.",
            "",
            *("| After | Fault |", "|---:|---|"),
            *(f"| {at:.0f} s | {what} |" for at, what in self.faults),
            "",
            *("| After | Worker | Server | Kafka |", "|---:|---:|---:|---:|"),
            *(
                f"| {at:.0f} s | "
                + " | ".join(
                    f"{sizes.get(name, 0):.0f} MB" for name in ("worker", "server", "kafka")
                )
                + " |"
                for at, sizes in self.memory
            ),
        ]
        return "\n".join(lines) + "\n"


def in_the_table(metastore: str, s3: dict[str, str]) -> list[str]:
    """The id of each row of the table, by PyIceberg."""
    options = {"type": "hive", "uri": metastore, **{f"s3.{key}": s3[key] for key in s3}}
    table = load_catalog("hive", **options).load_table("default.orders")
    found: list[str] = table.scan(selected_fields=("order_id",)).to_arrow()["order_id"].to_pylist()
    return found


def in_the_archive(s3: dict[str, str]) -> list[str]:
    """The id of each line of the archive's objects, by boto3."""
    client = boto3.client(
        "s3",
        endpoint_url=s3["endpoint"],
        aws_access_key_id=s3["access-key-id"],
        aws_secret_access_key=s3["secret-access-key"],
        region_name=s3["region"],
        config=Config(s3={"addressing_style": "path"}),
    )
    pages = client.get_paginator("list_objects_v2").paginate(
        Bucket="fh-dev-bucket", Prefix="orders/"
    )
    objects = [one["Key"] for page in pages for one in page.get("Contents", ())]
    bodies = (client.get_object(Bucket="fh-dev-bucket", Key=key)["Body"].read() for key in objects)
    return [json.loads(line)["order_id"] for body in bodies for line in body.splitlines()]


class Witness(threading.Thread):
    """Sends an event of its own twice a second, and remembers which were acknowledged."""

    def __init__(self, url: Callable[[], str]) -> None:
        super().__init__(name="witness", daemon=True)
        self.url, self.stopped = url, threading.Event()
        self.told = 0
        self.acknowledged: list[str] = []
        self.missing: list[str] = []

    def run(self) -> None:
        while not self.stopped.wait(0.5):
            run = str(uuid.uuid4())
            event = {
                "eventType": "COMPLETE",
                "eventTime": datetime.now(UTC).isoformat(),
                "producer": "https://example.org/witness",
                "run": {"runId": run},
                "job": {"namespace": "soak", "name": "witness"},
            }
            self.told += 1
            with contextlib.suppress(httpx.HTTPError, HeadwaterError, OSError, KeyError):
                answer = httpx.post(f"{self.url()}/api/v1/lineage", json=event, timeout=5)
                if answer.status_code == 201:
                    self.acknowledged.append(run)

    def finish(self) -> None:
        """Ask for every run that was acknowledged."""
        self.stopped.set()
        self.join()
        with httpx.Client(base_url=self.url(), timeout=60) as client:
            for run in self.acknowledged:
                if client.get(f"/api/v1/jobs/runs/{run}").status_code != 200:
                    self.missing.append(run)


if __name__ == "__main__":
    sys.exit(main())
