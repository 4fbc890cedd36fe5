"""What a platform survives, and what it leaves behind: nothing."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from headwater.stack import state, supervisor
from headwater.stack.process import Pid
from stack.clients import consume, deploy, get, hive, put, s3_client
from stack.platform import Platform, eventually


@pytest.fixture
def small(tmp_path: Path) -> Platform:
    """A platform of one's own."""
    return Platform(tmp_path / "a home")


@pytest.mark.parametrize("name", ["kafka", "registry", "s3", "metastore", "server", "connect"])
def test_a_killed_service_is_back_and_its_data_is_there(platform: Platform, name: str) -> None:
    write, read = DATA[name]
    write(platform)
    before = platform.service(name)
    psutil.Process(before["pid"]).kill()

    def back() -> bool:
        now = platform.service(name)
        return bool(now["status"] == "healthy" and now["pid"] != before["pid"])

    eventually(back)
    after = platform.service(name)
    assert after["restarts"] == before["restarts"] + 1
    assert after["address"] == before["address"]
    eventually(lambda: read(platform))


def test_a_service_that_hangs_is_shown_and_started_again(tmp_path: Path) -> None:
    platform = Platform(tmp_path / "hung", HEADWATER_UNRESPONSIVE_SECONDS="20")
    platform.up("--only", "s3")
    try:
        before = platform.service("s3")
        hung = psutil.Process(before["pid"])
        hung.suspend()
        eventually(lambda: platform.service("s3")["status"] == "unresponsive")
        hung.resume()
        eventually(lambda: platform.service("s3")["status"] == "healthy")
        assert platform.service("s3")["pid"] == before["pid"]
        hung.suspend()
        eventually(lambda: platform.service("s3")["restarts"] == before["restarts"] + 1, 120)
        eventually(lambda: platform.service("s3")["status"] == "healthy")
        assert platform.service("s3")["pid"] != before["pid"]
    finally:
        platform.run("down")


def test_a_killed_supervisor_leaves_nothing_running(small: Platform) -> None:
    up = start(small, "kafka,s3")
    assert len(small.processes()) >= 4
    up.kill()
    up.wait()
    eventually(lambda: small.processes() == [])
    # What it left behind is not believed, and is no obstacle.
    assert small.run("status").returncode == 1
    small.up("--only", "s3")
    assert small.run("down").returncode == 0
    assert small.processes() == []


def test_a_killed_guard_and_supervisor_leave_nothing_running(small: Platform) -> None:
    up = start(small, "s3")
    (guard,) = [one for one in psutil.Process(up.pid).children() if "watch" in one.cmdline()]
    guard.kill()
    up.kill()
    up.wait()
    eventually(lambda: small.processes() == [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(small: Platform, number: signal.Signals) -> None:
    up = start(small, "s3")
    up.send_signal(number)
    assert up.wait(180) == 0
    assert small.processes() == []
    assert not state.state_file(small.home).exists()


def test_up_and_down_again_leak_nothing(small: Platform) -> None:
    addresses, names = [], []
    for _ in range(2):
        small.up("--only", "kafka,registry,s3,metastore")
        addresses.append({one["name"]: one["address"] for one in small.status()["services"]})
        assert small.run("down").returncode == 0
        assert small.processes() == []
        names.append(sorted(path.name for path in small.home.iterdir()))
    assert addresses[0] == addresses[1]
    assert names[0] == names[1] == ["data", "logs", "ports.json"]
    assert small.run("down", "--purge").returncode == 0
    assert not small.home.exists()


def test_a_second_up_is_told_about_the_first(small: Platform) -> None:
    small.up("--only", "s3")
    try:
        second = small.run("up", "--only", "s3")
        assert second.returncode == 1
        assert "is already up" in second.stderr
        assert len(second.stderr.strip().splitlines()) == 2
    finally:
        small.run("down")


def test_a_port_in_use_is_named(small: Platform) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        for detach in ([], ["--detach"]):
            done = small.run("up", "--only", "s3", "--s3-port", port, *detach)
            assert done.returncode == 1
            assert f"s3 needs port {port}, which is in use" in done.stderr
            assert "--s3-port" in done.stderr
    assert small.processes() == []


def test_a_stranger_with_a_recycled_pid_is_not_taken_for_ours(small: Platform) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        stale = Pid(stranger.pid, started=1.0)
        service = state.ServiceState("s3", "S3", "", 1, "", status="healthy", pid=stale)
        state.write(state.State(small.home, small.home, stale, {"s3": service}))
        (small.home / "supervisor.pid").write_bytes(msgspec.json.encode(stale))
        assert "no platform is up" in small.run("status").stderr
        assert small.run("down").returncode == 0
        assert stranger.poll() is None
        assert not state.state_file(small.home).exists()
    finally:
        stranger.communicate(b"\n")


def test_down_works_when_the_state_file_is_rubbish(small: Platform) -> None:
    small.up("--only", "s3")
    state.state_file(small.home).write_text("{")
    assert small.run("down").returncode == 0
    assert small.processes() == []
    assert supervisor.down(small.home) is False


def test_a_corrupted_metastore_is_told_in_two_lines(small: Platform) -> None:
    small.up("--only", "metastore")
    small.run("down")
    for segment in (small.home / "data/metastore/derby/seg0").iterdir():
        os.truncate(segment, 100)
    done = small.run("up", "--detach", "--free-ports", "--only", "metastore")
    assert done.returncode == 1
    error = done.stderr[done.stderr.index("error:") :].strip().splitlines()
    assert len(error) == 2
    assert "metastore's database" in error[0]
    assert "s3://warehouse are kept" in error[1]
    assert small.run("down").returncode == 0
    assert small.processes() == []
    shutil.rmtree(small.home / "data/metastore")
    small.up("--only", "metastore")
    small.run("down")


def start(small: Platform, only: str) -> "subprocess.Popen[bytes]":
    """A foreground platform, once it is healthy."""
    up = small.start("--only", only)
    eventually(lambda: small.status().get("healthy", False))
    return up


def _produce(platform: Platform) -> None:
    servers = platform.variables()["KAFKA_BOOTSTRAP_SERVERS"]
    producer = Producer({"bootstrap.servers": servers})
    producer.produce("survivors", b"still here")
    assert producer.flush(30) == 0


def _consumed(platform: Platform) -> bool:
    return b"still here" in consume(platform.variables()["KAFKA_BOOTSTRAP_SERVERS"], "survivors", 1)


def _register(platform: Platform) -> None:
    with SchemaRegistryClient({"url": platform.variables()["SCHEMA_REGISTRY_URL"]}) as registry:
        registry.register_schema("survivors-value", Schema('"string"', "AVRO"))


def _registered(platform: Platform) -> bool:
    with SchemaRegistryClient({"url": platform.variables()["SCHEMA_REGISTRY_URL"]}) as registry:
        return "survivors-value" in registry.get_subjects()


def _put(platform: Platform) -> None:
    s3_client(platform).put_object(Bucket="warehouse", Key="survivor", Body=b"still here")


def _got(platform: Platform) -> bool:
    answer = s3_client(platform).get_object(Bucket="warehouse", Key="survivor")
    return bool(answer["Body"].read() == b"still here")


def _create(platform: Platform) -> None:
    hive(platform).create_namespace("survivors")


def _created(platform: Platform) -> bool:
    return ("survivors",) in hive(platform).list_namespaces()


def _declare(platform: Platform) -> None:
    url = f"{platform.variables()['OPENLINEAGE_URL']}/api/v1/namespaces/survivors"
    put(url, {"ownerName": "tests"})


def _declared(platform: Platform) -> bool:
    url = f"{platform.variables()['OPENLINEAGE_URL']}/api/v1/namespaces/survivors"
    return bool(get(url)["ownerName"] == "tests")


def _deploy(platform: Platform) -> None:
    sink = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    config = {"connector.class": sink, "topics": "survivors", "file": str(platform.home / "sunk")}
    deploy(platform.variables()["CONNECT_URL"], "survivors", config)


def _deployed(platform: Platform) -> bool:
    return "survivors" in get(f"{platform.variables()['CONNECT_URL']}/connectors")


DATA = {
    "kafka": (_produce, _consumed),
    "registry": (_register, _registered),
    "s3": (_put, _got),
    "metastore": (_create, _created),
    "server": (_declare, _declared),
    "connect": (_deploy, _deployed),
}
