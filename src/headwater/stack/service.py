"""What a service of the platform is: how it is prepared, started, probed and settled."""

import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headwater.errors import HeadwaterError
from headwater.stack.fetch import JarCache
from headwater.stack.lock import Lock
from headwater.stack.ports import HOST

# Development services on a laptop: quick to start and small beats fast after an hour.
SMALL_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)

# Credentials of a store that listens on loopback only.
S3_KEY = "headwater"
S3_SECRET = "headwater-secret"  # noqa: S105
S3_REGION = "us-east-1"
BUCKETS = ("fh-dev-bucket", "warehouse")

# Runs a tool to its end, with its output in the service's log.
Tool = Callable[[list[str], Mapping[str, str]], None]


class PlatformLayout(msgspec.Struct, frozen=True):
    """Where a platform lives: its folder, its Java, its jars and the ports that were chosen."""

    home: Path
    java_home: Path
    cache: JarCache
    lock: Lock
    ports: Mapping[str, int]
    # How long a running service may leave probes unanswered before it is started again.
    unresponsive_s: float = 60.0

    @property
    def java(self) -> str:
        """The Java to run services with."""
        return str(self.java_home / "bin" / "java")

    def data(self, service: str) -> Path:
        """The folder with a service's data."""
        return self.home / "data" / service

    def log(self, service: str) -> Path:
        """The file with a service's output."""
        return self.home / "logs" / f"{service}.log"

    def endpoint(self, service: str) -> str:
        """The host and port of a service."""
        return f"{HOST}:{self.ports[service]}"

    def jars(self, *sets: str) -> list[Path]:
        """The files of some sets of the lock."""
        return [self.cache.path(jar) for jar in self.lock.jars(sets)]

    def unpacked(self, name: str) -> Path:
        """The one folder inside the archive that a set begins with, or the archive's root."""
        (archive,) = [jar for jar in self.lock.jars([name]) if jar.type == "tar.gz"]
        return self.cache.unpacked(archive)


def _nothing(_layout: PlatformLayout) -> None:
    return


def _no_tools(_layout: PlatformLayout, _run: Tool) -> None:
    return


def _no_variables(_layout: PlatformLayout) -> dict[str, str]:
    return {}


def _undiagnosed(_layout: PlatformLayout, _log: str) -> HeadwaterError | None:
    return None


class Service(msgspec.Struct, frozen=True):
    """One process of the platform.

    `prepare` makes what must be on disk before the first start, `probe` raises until the
    service answers in its own protocol, `settle` does once what needs the service to run, and
    `diagnose` turns a log into an error that says what to do.
    """

    name: str
    title: str
    port: int
    scheme: str
    command: Callable[[PlatformLayout], list[str]]
    probe: Callable[[PlatformLayout], None]
    sets: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    extra_ports: tuple[str, ...] = ()
    variables: Callable[[PlatformLayout], dict[str, str]] = _no_variables
    prepare: Callable[[PlatformLayout, Tool], None] = _no_tools
    settle: Callable[[PlatformLayout], None] = _nothing
    diagnose: Callable[[PlatformLayout, str], HeadwaterError | None] = _undiagnosed
    start_limit_s: float = 90.0

    def address(self, layout: PlatformLayout) -> str:
        """The address that people and programs use."""
        return f"{self.scheme}{layout.endpoint(self.name)}"


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: ours, without what would change how a JVM or Spark starts."""
    unwanted = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "SPARK_HOME")
    return {k: v for k, v in os.environ.items() if k not in unwanted} | dict(extra)


def get_json(url: str) -> Any:
    """Read JSON from a service on this machine."""
    return request_json("GET", url)


def request_json(method: str, url: str, body: object = None) -> Any:
    """Send JSON to a service on this machine and read what it answers."""
    request = urllib.request.Request(  # noqa: S310
        url,
        method=method,
        data=None if body is None else msgspec.json.encode(body),
        headers={"Content-Type": "application/json"},
    )
    with _DIRECT.open(request, timeout=5) as response:
        content = response.read()
    return msgspec.json.decode(content) if content else None


# A proxy in the environment is for other machines.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
