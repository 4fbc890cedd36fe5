"""The lineage server, on SQLite in the state folder."""

import sys
from importlib.util import find_spec
from pathlib import Path

from headwater.stack.ports import HOST
from headwater.stack.registry import registry_url
from headwater.stack.service import PlatformLayout, Service, Tool, get_json

_CLUSTERS = ("worker", "connect")


def store_url(home: Path) -> str:
    """Where the lineage server of a platform keeps its data."""
    return f"sqlite:///{home / 'data' / 'server' / 'headwater.db'}"


def _prepare(layout: PlatformLayout, _run: Tool) -> None:
    layout.data("server").mkdir(parents=True, exist_ok=True)


def _command(layout: PlatformLayout) -> list[str]:
    address = ["--host", HOST, "--port", str(layout.ports["server"])]
    # What runs connectors here is shown on the page.
    shown = [f"{name}=http://{layout.endpoint(name)}" for name in _CLUSTERS if name in layout.ports]
    pipelines = [part for one in shown for part in ("--connect", one)]
    command = [sys.executable, "-m", "headwater.cli.main", "server", *address, *pipelines]
    return [*command, *_topics(layout), "--store", store_url(layout.home)]


def _topics(layout: PlatformLayout) -> list[str]:
    """The option that has the page show the topics, where Kafka's client is installed."""
    if "kafka" not in layout.ports or find_spec("confluent_kafka") is None:
        return []
    registry = f"?registry={registry_url(layout)}" if "registry" in layout.ports else ""
    return ["--kafka", f"kafka={layout.endpoint('kafka')}{registry}"]


def _probe(layout: PlatformLayout) -> None:
    get_json(f"http://{layout.endpoint('server')}/health")


SERVER = Service(
    name="server",
    title="Lineage server",
    port=5000,
    scheme="http://",
    prepare=_prepare,
    command=_command,
    probe=_probe,
)
