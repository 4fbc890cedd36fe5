"""The tutorial, the guides and the README, typed command by command on a real platform."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from docs.blocks import ROOT, Block, Command, blocks, shell_blocks
from docs.servers import Servers
from docs.shell import Shell, open_shell
from stack.platform import Platform, eventually

PATIENCE_S = 240
READERS = ("iceberg-ingestion", "orders-s3-sink", "supplier-stats")
PORTS = {
    f"HEADWATER_{service}_PORT": "0"  # any free one
    for service in ("KAFKA", "REGISTRY", "S3", "METASTORE", "SERVER", "WORKER")
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Reader:
    """Someone who follows the docs: types, waits as told, and copies ids."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.count = 0
        self.transcript: list[str] = []

    def follow(self, blocks: Iterable[Block]) -> None:
        """Type the blocks of a page into a new terminal, in the project's folder."""
        environ = {"HEADWATER_HOME": str(self.platform.home), **PORTS}
        with open_shell(ROOT, environ) as shell:
            for block in blocks:
                if block.after:
                    condition = CONDITIONS[block.after]
                    eventually(lambda: condition(self.platform), PATIENCE_S)  # noqa: B023
                for command in block.commands():
                    self._type(shell, block, command)

    def _type(self, shell: Shell, block: Block, command: Command) -> None:
        text = command.text
        if "RUN_ID" in text:
            text = text.replace("RUN_ID", _UUID.findall(self.transcript[-1])[0])
        done = shell.run(text)
        self.transcript.append(f"$ {text}\n{done.output}")
        assert done.code == 0, f"{block.place}:\n" + "\n".join(self.transcript)
        if command.output:
            assert plain(done.output) == plain(command.output), f"{block.place}: {text}"
        self.count += 1


def plain(output: str) -> str:
    """Output without the ports of this machine."""
    lines = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", output).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def ask(platform: Platform, path: str) -> Any:
    url = platform.variables()["OPENLINEAGE_URL"]
    return httpx.get(f"{url}/api/v1/{path}", timeout=120).json()


def jobs(platform: Platform) -> dict[str, Any]:
    return {job["name"]: job for job in ask(platform, "jobs?limit=100")["jobs"]}


def states(platform: Platform, *names: str) -> set[str]:
    found = jobs(platform)
    return {(found.get(name, {}).get("latestRun") or {}).get("state", "") for name in names}


def outputs_are_known(platform: Platform) -> bool:
    found = jobs(platform)
    sinks = ("orders-s3-sink", "orders-iceberg-sink")
    return all(found.get(name, {}).get("outputs") for name in sinks)


def table_has_orders(platform: Platform) -> bool:
    run = (jobs(platform).get("iceberg-ingestion", {}).get("latestRun") or {}).get("id")
    points = ask(platform, f"runs/{run}/progress")["points"] if run else []
    return any(point["rows"] for point in points)


def topic_has_new_field(platform: Platform) -> bool:
    kafka = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
    topic = ask(platform, f"namespaces/kafka%3A%2F%2F{kafka}/datasets/orders")
    return "currency" in {field["name"] for field in topic["fields"]}


def table_is_a_minute_old(platform: Platform) -> bool:
    table = ask(platform, "namespaces/s3%3A%2F%2Fwarehouse/datasets/supplier_stats")
    created = table.get("createdAt")
    if created is None:
        return False
    return datetime.now(UTC) - datetime.fromisoformat(created) > timedelta(minutes=1, seconds=2)


def worker_is_back(platform: Platform) -> bool:
    worker = platform.service("worker")
    back = worker.get("status") == "healthy" and worker.get("restarts") == 1
    return back and states(platform, *READERS) == {"RUNNING"}


CONDITIONS: dict[str, Callable[[Platform], bool]] = {
    "the sinks have reported their outputs": outputs_are_known,
    "there are orders in the table": table_has_orders,
    "the table of the daily job is over a minute old": table_is_a_minute_old,
    "the worker runs again": worker_is_back,
    "the readers have failed": lambda it: states(it, *READERS) == {"FAILED"},
    "the readers run again": lambda it: states(it, *READERS) == {"RUNNING"},
    "the topic has the new field": topic_has_new_field,
}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(Platform(tmp_path / "home", **PORTS))
    yield reader
    reader.platform.run("down")
    assert reader.platform.processes() == []


def of(page: str) -> list[Block]:
    return [block for block in blocks(ROOT / page) if block.environment == "platform"]


def start_beside(platform: Platform, command: str, folder: Path) -> None:
    """Start a server that uses the platform's services instead of those that the docs name."""
    variables = platform.variables()
    for example, real in {
        "broker:9092": variables["KAFKA_BOOTSTRAP_SERVERS"],
        "http://registry:8081": variables["SCHEMA_REGISTRY_URL"],
        "http://127.0.0.1:8083": variables["HEADWATER_WORKER"],
    }.items():
        command = command.replace(example, real)
    servers = Servers(folder)
    try:
        servers.start(command, {"HEADWATER_HOME": str(folder)})
    finally:
        servers.stop()


@pytest.mark.timeout(1800)
def test_docs_can_be_followed_word_for_word(
    reader: Reader, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    *tutorial, end = of("docs/tutorial.md")
    lineage, *pipeline = of("README.md")
    breaking = next(n for n, block in enumerate(tutorial) if "demo break" in block.text)
    reader.follow(tutorial[:breaking])
    reader.follow([lineage])  # README shows the output of the tutorial's lab, before it is broken
    reader.follow(tutorial[breaking:])
    first = {ROOT / "docs/tutorial.md", ROOT / "README.md"}
    for page in dict.fromkeys(block.page for block in shell_blocks("platform")):
        if page not in first:
            reader.follow(block for block in shell_blocks("platform") if block.page == page)
    for block in shell_blocks("platform server"):
        for command in block.commands():
            start_beside(reader.platform, command.text, tmp_path)
            reader.count += 1
    reader.follow([end])
    assert reader.platform.processes() == []

    reader.follow(pipeline)
    record_property("commands of the docs", reader.count)


def test_every_condition_is_used() -> None:
    used = {block.after for block in shell_blocks("platform")} - {""}
    assert used == set(CONDITIONS)
