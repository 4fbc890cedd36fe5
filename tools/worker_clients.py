"""Runs public clients of Kafka Connect against the worker and against a real Kafka Connect.

python tools/worker_clients.py    write docs/reference/worker-clients.md
"""

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from headwater.stack import Settings, java_home
from headwater.stack.ivy import Wanted, start

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from pipeline.process import WorkerProcess  # noqa: E402
from stack.platform import Platform, eventually  # noqa: E402

_PAGE = ROOT / "docs" / "reference" / "worker-clients.md"
_ABOUT = """# Clients of the worker

Public clients of Kafka Connect, run against Headwater's worker and against Kafka Connect {version}:
what each of them calls, and the status that it gets. *Same* means that the answer also has the same
JSON structure. Written by `make worker-clients`.
"""
_JAVA = Wanted("org.sourcelab", "kafka-connect-client", "4.0.3", transitive=True)
_PYTHON = "kafka-connect-api==0.5.10"
_NAME = "client-tour"
Steps = list[tuple[str, Callable[[], Any]]]


class Call(NamedTuple):
    """A request that a client has sent, and its answer."""

    request: str
    status: int
    shape: Any


class Side(NamedTuple):
    """A worker of one of the two kinds, with a connector that it can run."""

    url: str
    config: dict[str, str]

    @property
    def plugin(self) -> str:
        return self.config["connector.class"]


@contextmanager
def recorded(upstream: str) -> Iterator[tuple[str, list[Call]]]:
    """A proxy in front of a worker, and the list of all calls through it."""
    calls: list[Call] = []

    class Proxy(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            sent = {"content-type": self.headers.get("content-type", "application/json")}
            answer = httpx.request(
                self.command, upstream + self.path, content=body, headers=sent, timeout=60
            )
            calls.append(Call(_template(f"{self.command} {self.path}"), *_answered(answer)))
            self.send_response(answer.status_code)
            kind = answer.headers.get("content-type")
            if kind:
                self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _pass_on  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", calls
    finally:
        server.shutdown()
        server.server_close()


def kafka_connect_py(url: str, side: Side) -> Steps:
    """The steps of `kafka-connect-py` 1.0.0."""
    from kafka_connect import KafkaConnect  # noqa: PLC0415

    one: Any = KafkaConnect(url=url)
    short = side.plugin.rpartition(".")[2]
    return [
        ("get_cluster_info", one.get_cluster_info),
        ("list_connector_plugins", one.list_connector_plugins),
        (
            "validate_connector_config",
            lambda: one.validate_connector_config(short, {**side.config, "name": _NAME}),
        ),
        (
            "create_connector",
            lambda: one.create_connector({"name": _NAME, "config": side.config}),
        ),
        ("(running)", lambda: _running(side.url)),
        ("list_connectors", one.list_connectors),
        ("list_connectors(expand)", lambda: one.list_connectors(expand="status")),
        ("get_connector", lambda: one.get_connector(_NAME)),
        ("get_connector_config", lambda: one.get_connector_config(_NAME)),
        ("get_connector_status", lambda: one.get_connector_status(_NAME)),
        ("list_connector_tasks", lambda: one.list_connector_tasks(_NAME)),
        ("get_connector_task_status", lambda: one.get_connector_task_status(_NAME, 0)),
        ("restart_connector_task", lambda: one.restart_connector_task(_NAME, 0)),
        ("(running)", lambda: _running(side.url)),
        ("update_connector", lambda: one.update_connector(_NAME, side.config)),
        ("(running)", lambda: _running(side.url)),
        ("restart_connector", lambda: one.restart_connector(_NAME)),
        (
            "restart_connector(include_tasks)",
            lambda: one.restart_connector(_NAME, include_tasks=True),
        ),
        ("(running)", lambda: _running(side.url)),
        ("list_connector_topics", lambda: one.list_connector_topics(_NAME)),
        ("reset_connector_topics", lambda: one.reset_connector_topics(_NAME)),
        ("pause_connector", lambda: one.pause_connector(_NAME)),
        ("resume_connector", lambda: one.resume_connector(_NAME)),
        ("stop_connector", lambda: one.stop_connector(_NAME)),
        ("delete_connector", lambda: one.delete_connector(_NAME)),
    ]


def kafka_connect_api(url: str, side: Side) -> Steps:
    """The steps of `kafka-connect-api`."""
    from kafka_connect_api.kafka_connect_api import (  # noqa: PLC0415  (installed by `main`)
        Api,
        Cluster,
        Connector,
    )

    cluster: Any = Cluster(Api(url=url))
    one: Any = Connector(cluster, _NAME)
    return [
        ("Cluster.version", lambda: cluster.version),
        ("Connector.exists (not yet)", lambda: _expected(one.exists)),
        ("Connector.config = …", lambda: setattr(one, "config", side.config)),
        ("(running)", lambda: _running(side.url)),
        ("Connector.exists", one.exists),
        ("Cluster.connectors", lambda: cluster.connectors),
        ("Connector.config", lambda: one.config),
        ("Connector.status", lambda: one.status),
        ("Connector.tasks", lambda: one.tasks),
        ("Task.status", lambda: one.tasks[0].status),
        ("Task.restart", lambda: [task.restart() for task in one.tasks]),
        ("(running)", lambda: _running(side.url)),
        ("Connector.restart", one.restart),
        ("(running)", lambda: _running(side.url)),
        ("Connector.pause", one.pause),
        ("Connector.resume", one.resume),
        ("Cluster.loggers", lambda: cluster.loggers),
        ("Cluster.root_logger = INFO", lambda: setattr(cluster, "root_logger", "INFO")),
        ("Connector.delete", one.delete),
    ]


def sourcelab(url: str, side: Side, jvm: Any) -> Steps:
    """The steps of `org.sourcelab:kafka-connect-client`, which AKHQ uses."""
    client = jvm.org.sourcelab.kafka.connect.apiclient
    one = client.KafkaConnectClient(client.Configuration(url))
    dto, texts = client.request.dto, jvm.java.util.HashMap()
    for key, value in side.config.items():
        texts.put(key, value)
    definition = dto.NewConnectorDefinition(_NAME, texts)
    validated = jvm.java.util.HashMap(texts)
    validated.put("name", _NAME)
    plugin = dto.ConnectorPluginConfigDefinition(side.plugin.rpartition(".")[2], validated)
    return [
        ("getConnectServerVersion", one.getConnectServerVersion),
        ("getConnectorPlugins", one.getConnectorPlugins),
        ("validateConnectorPluginConfig", lambda: one.validateConnectorPluginConfig(plugin)),
        ("addConnector", lambda: one.addConnector(definition)),
        ("(running)", lambda: _running(side.url)),
        ("getConnectors", one.getConnectors),
        ("getConnectorsWithExpandedStatus", one.getConnectorsWithExpandedStatus),
        ("getConnectorsWithExpandedInfo", one.getConnectorsWithExpandedInfo),
        ("getConnectorsWithAllExpandedMetadata", one.getConnectorsWithAllExpandedMetadata),
        ("getConnector", lambda: one.getConnector(_NAME)),
        ("getConnectorConfig", lambda: one.getConnectorConfig(_NAME)),
        ("getConnectorStatus", lambda: one.getConnectorStatus(_NAME)),
        ("getConnectorTasks", lambda: one.getConnectorTasks(_NAME)),
        ("getConnectorTaskStatus", lambda: one.getConnectorTaskStatus(_NAME, 0)),
        ("restartConnectorTask", lambda: one.restartConnectorTask(_NAME, 0)),
        ("(running)", lambda: _running(side.url)),
        ("updateConnectorConfig", lambda: one.updateConnectorConfig(_NAME, texts)),
        ("(running)", lambda: _running(side.url)),
        ("restartConnector", lambda: one.restartConnector(_NAME)),
        ("getConnectorTopics", lambda: one.getConnectorTopics(_NAME)),
        ("resetConnectorTopics", lambda: one.resetConnectorTopics(_NAME)),
        ("pauseConnector", lambda: one.pauseConnector(_NAME)),
        ("resumeConnector", lambda: one.resumeConnector(_NAME)),
        ("deleteConnector", lambda: one.deleteConnector(_NAME)),
    ]


def toured(side: Side, steps: Callable[[str, Side], Steps]) -> list[tuple[str, list[Call], str]]:
    """What each step of a client called, and how the client took it."""
    done = []
    with recorded(side.url) as (url, calls):
        for label, step in steps(url, side):
            calls.clear()
            problem = ""
            try:
                step()
            except Exception as error:  # any kind: it is what the client makes of the answer
                problem = type(error).__name__
            if not label.startswith("("):
                done.append((label, [*calls], problem))
    eventually(lambda: _NAME not in httpx.get(f"{side.url}/connectors").json(), 60)
    return done


def table(
    ours: list[tuple[str, list[Call], str]], theirs: list[tuple[str, list[Call], str]]
) -> str:
    """The steps of one client, side by side."""
    lines = ["| Call | Requests | Kafka Connect | Headwater | |", "|---|---|---|---|---|"]
    for (label, mine, fault), (_, other, their_fault) in zip(ours, theirs, strict=True):
        requests = "<br>".join(f"`{call.request}`" for call in mine)
        same = fault == their_fault and len(mine) == len(other)
        same = same and all(map(_alike, mine, other))
        cells = [f"`{label}`", requests, _statuses(other, their_fault), _statuses(mine, fault)]
        lines.append(f"| {' | '.join(cells)} | {'same' if same else '**differs**'} |")
        if not same:
            print(label, mine, fault, other, their_fault, sep="\n   ", flush=True)
    return "\n".join(lines)


def _alike(one: Call, other: Call) -> bool:
    return one.status == other.status and _fits(one.shape, other.shape)


def _fits(one: Any, other: Any) -> bool:
    """Whether two answers have the same structure; a list may be empty."""
    if isinstance(one, list) and isinstance(other, list):
        return not one or not other or _fits(one[0], other[0])
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_fits(one[key], other[key]) for key in one)
    return bool(one == other)


def _statuses(calls: list[Call], fault: str) -> str:
    return ", ".join([*(str(call.status) for call in calls), *([fault] if fault else [])])


def _expected(exists: Callable[[], bool]) -> None:
    """Asked for a connector that is not there, this client raises its error for 404."""
    try:
        assert not exists()
    except Exception as error:
        if "404" not in str(error) and "not found" not in str(error).lower():
            raise


def _template(request: str) -> str:
    return re.sub(r"/connector-plugins/[^/]+/", "/connector-plugins/CLASS/", request).replace(
        _NAME, "NAME"
    )


def _answered(answer: httpx.Response) -> tuple[int, Any]:
    try:
        return answer.status_code, _shape(answer.json())
    except json.JSONDecodeError:
        return answer.status_code, None


def _shape(value: Any) -> Any:
    """The keys of an answer: those that are names of things count as one, as do items of lists."""
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    if not isinstance(value, dict):
        return "value"
    if "connector.class" in value:
        return "config"
    kinds = {tuple(sorted(one)) if isinstance(one, dict) else None for one in value.values()}
    if len(kinds) == 1 and None not in kinds:
        return {"*": _shape(next(iter(value.values())))}
    return {key: _shape(one) for key, one in sorted(value.items()) if key != "phase"}


def _running(url: str) -> None:
    def runs() -> bool:
        status = httpx.get(f"{url}/connectors/{_NAME}/status")
        if status.status_code != 200:
            return False
        tasks = status.json()["tasks"]
        return bool(tasks) and {task["state"] for task in tasks} == {"RUNNING"}

    eventually(runs, 120)
    time.sleep(0.5)


def main() -> None:
    """Run everything and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        target = home / "python"
        uv = Path(sys.executable).with_name("uv")
        install = [uv, "pip", "install", "--quiet", "--target", target, "--no-deps", _PYTHON]
        subprocess.run(install, check=True)
        sys.path.append(str(target))
        java = java_home(Settings.read({})) / "bin" / "java"
        bring = start(java, home / "java", [_JAVA], pattern="jars/[artifact]-[revision].[ext]")
        told, _ = bring.communicate(timeout=300)
        assert bring.returncode == 0, told
        jars = ":".join(str(one) for one in (home / "java" / "jars").glob("*.jar"))
        port = launch_gateway(classpath=jars, java_path=str(java), die_on_exit=True)
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        platform = Platform(home / "platform")
        try:
            _PAGE.write_text(_run(platform, home, gateway.jvm), encoding="utf-8")
        finally:
            gateway.shutdown()
            platform.run("down", "--purge")


def _run(platform: Platform, home: Path, jvm: Any) -> str:
    platform.up("--only", "kafka,registry,s3", "--with", "connect")
    platform.run("fetch", "--only", "spark")
    source = home / "lines.txt"
    source.write_text("a line\n")
    files = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    converter = "org.apache.kafka.connect.storage.StringConverter"
    theirs = Side(
        platform.service("connect")["address"],
        {
            "connector.class": files,
            "file": str(source),
            "topic": "lines",
            "tasks.max": "1",
            "value.converter": converter,
        },
    )
    generator = "com.amazonaws.mskdatagen.GeneratorSourceConnector"
    worker = WorkerProcess(platform, home / "state")
    worker.start()
    ours = Side(
        worker.url,
        {"connector.class": generator, "genv.lines.id.with": "#{Internet.uuid}", "tasks.max": "1"},
    )
    clients: dict[str, Callable[[str, Side], Steps]] = {
        "kafka-connect-py 1.0.0 (Python)": kafka_connect_py,
        f"{_PYTHON.replace('==', ' ')} (Python)": kafka_connect_api,
        f"{_JAVA.group}:{_JAVA.artifact} {_JAVA.version} (Java; used by AKHQ)": lambda url, side: (
            sourcelab(url, side, jvm)
        ),
    }
    version = httpx.get(theirs.url).json()["version"]
    try:
        parts = [_ABOUT.format(version=version)]
        for title, steps in clients.items():
            parts += [f"## {title}\n", table(toured(ours, steps), toured(theirs, steps)), ""]
    finally:
        worker.stop()
    return "\n".join(parts)


if __name__ == "__main__":
    main()
