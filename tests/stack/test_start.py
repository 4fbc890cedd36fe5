"""A start that fails names its cause, and blames nothing else."""

import re
import sys
import uuid
from pathlib import Path
from typing import NoReturn

import pytest

from headwater.errors import HeadwaterError, ServiceFailed, ServiceUnprepared
from headwater.stack.cause import cause
from headwater.stack.fetch import JarCache
from headwater.stack.kafka import cluster_id
from headwater.stack.lock import Lock
from headwater.stack.service import PlatformLayout, Service
from headwater.stack.supervisor import Supervisor
from stack.platform import Platform

BIND = """\
[2026-11-16 09:00:00,001] INFO starting (kafka.server.KafkaRaftServer)
[2026-11-16 09:00:00,902] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)
org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:9092
\tat kafka.network.DataPlaneAcceptor.openServerSocket(SocketServer.scala:710)
Caused by: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
\t... 12 more
[2026-11-16 09:00:00,950] ERROR Fatal error during shutdown (kafka.server.KafkaRaftServer)
java.lang.IllegalStateException: not started
\tat kafka.server.BrokerServer.shutdown(BrokerServer.scala:1)
Caused by: java.lang.NullPointerException
"""
PYTHON = """\
Traceback (most recent call last):
  File "/x/main.py", line 3, in <module>
    run()
ValueError: no such store
"""
MEMORY = "WARN slow\nTerminating due to java.lang.OutOfMemoryError: Java heap space\nERROR gone\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (BIND, "java.net.BindException: Address already in use"),
        (PYTHON, "ValueError: no such store"),
        (MEMORY, "Terminating due to java.lang.OutOfMemoryError: Java heap space"),
        ("starting\nError: no main class X\n", "Error: no main class X"),
        ("starting\nUsage: tool [options]\n", "Usage: tool [options]"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_first_error_of_a_log_is_its_cause(log: str, expected: str) -> None:
    assert cause(log) == expected


def test_a_cluster_id_begins_with_a_letter_whatever_the_number() -> None:
    for first in range(256):
        name = cluster_id(uuid.UUID(bytes=bytes([first, *uuid.uuid4().bytes[1:]])))
        assert name[0].isalpha()
        assert len(name) == 22


@pytest.mark.parametrize("command", ["up --only s3", "up --detach", "demo"])
def test_what_will_be_fetched_is_said_before_anything_else(command: str, tmp_path: Path) -> None:
    mirror = tmp_path / "ivysettings.xml"
    root = (tmp_path / "empty").as_uri()
    mirror.write_text(
        '<ivysettings><settings defaultResolver="mirror"/><resolvers><ibiblio name="mirror" '
        f'm2compatible="true" usepoms="false" root="{root}"/></resolvers></ivysettings>'
    )
    cache = tmp_path / "cache"
    environ = {"HEADWATER_CACHE": str(cache), "HEADWATER_IVY_SETTINGS": str(mirror)}
    done = Platform(tmp_path / "home", **environ).run(*command.split())
    assert done.returncode == 1
    first, where, ahead, *others = done.stderr.splitlines()
    assert re.fullmatch(
        rf"\d+ MB of jars are missing and .* from the repository of {mirror}", first
    )
    assert f"the cache {cache} " in where
    assert "`headwater fetch`" in ahead
    assert "HEADWATER_IVY_SETTINGS" in ahead
    assert any(line.startswith("error: could not fetch ") for line in others)


def test_an_ivy_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.xml"
    environ = {"HEADWATER_CACHE": str(tmp_path / "cache"), "HEADWATER_IVY_SETTINGS": str(missing)}
    done = Platform(tmp_path / "home", **environ).run("fetch", "--only", "s3")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: the Ivy settings file {missing} does not exist")


def failure(service: Service, home: Path) -> HeadwaterError:
    """The error that a platform of this service alone ends with."""
    layout = PlatformLayout(home, home, JarCache(home), Lock({}), {service.name: 1})
    supervisor = Supervisor(home)
    try:
        supervisor.start([service], layout, lambda _: None)
        while supervisor.wait():
            pass
    except HeadwaterError as error:
        return error
    finally:
        supervisor.close()
    raise AssertionError("it ended without an error")


def service_of(program: str) -> Service:
    return Service(
        name="registry",
        title="Schema registry",
        port=1,
        scheme="",
        command=lambda _: [sys.executable, "-c", program],
        probe=lambda _: None,
    )


def test_our_own_defect_is_not_blamed_on_the_service(tmp_path: Path) -> None:
    def command(_layout: PlatformLayout) -> NoReturn:
        raise TypeError("extractall() got an unexpected keyword argument")

    broken = Service(
        name="registry",
        title="Schema registry",
        port=1,
        scheme="",
        command=command,
        probe=lambda _: None,
    )
    error = failure(broken, tmp_path)
    assert isinstance(error, ServiceUnprepared)
    assert error.message == (
        "registry was not started: TypeError: extractall() got an unexpected keyword argument"
    )
    assert "not in the service" in error.hint


def test_a_service_that_ends_is_named_with_its_cause_first(tmp_path: Path) -> None:
    program = "import sys; print('starting'); sys.exit('Error: the disk is read-only')"
    error = failure(service_of(program), tmp_path)
    assert isinstance(error, ServiceFailed)
    assert error.message == (
        "registry did not come up: Error: the disk is read-only (it ended with status 1)"
    )
