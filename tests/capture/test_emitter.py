"""Events leave in order, wait on disk while the backend is away, and never hold up a job."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from capture.receiver import Receiver
from capture.waiting import until
from headwater.capture.emitter import Emitter
from headwater.capture.events import Event, RunName, run_event
from headwater.capture.settings import Settings
from headwater.capture.spool import open_spool
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

RUN = RunName("0197f0c0-0000-7000-8000-000000000001", JobName("test", "job"))


def settings(tmp_path: Path, url: str, **more: float) -> Settings:
    return Settings(url=url, spool_dir=str(tmp_path / "spool"), **more)  # type: ignore[arg-type]


def numbered(moment: EventType, number: int) -> Event:
    return run_event(moment, RUN, run_facets={"n": {"number": number}})


def numbers(receiver: Receiver) -> list[int]:
    return [event["run"]["facets"]["n"]["number"] for event in receiver.events]


def test_events_arrive_in_order(tmp_path: Path, receiver: Receiver) -> None:
    emitter = Emitter(settings(tmp_path, receiver.url))
    for number in range(50):
        emitter.emit(numbered(EventType.RUNNING, number))
    emitter.close()
    assert numbers(receiver) == list(range(50))
    assert not any((tmp_path / "spool").iterdir())


def test_backend_that_answers_500_gets_everything_later(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answer = 500
    emitter = Emitter(settings(tmp_path, receiver.url))
    for number in range(5):
        emitter.emit(numbered(EventType.START, number))
    assert not emitter.flush(0.5)
    receiver.answer = 201
    receiver.wait_for(lambda r: len(r.events) == 5)
    emitter.close()
    assert numbers(receiver) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("is_variable", [False, True])
@pytest.mark.parametrize("url", ["garbage", "http://", "localhost:5000", "http://[::1", "ftp://x"])
def test_url_that_is_none_is_reported_in_one_line(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    is_variable: bool,
) -> None:
    chosen = settings(tmp_path, url)
    if is_variable:
        monkeypatch.setenv("OPENLINEAGE_URL", url)
        chosen = replace(chosen, url=None)
    emitter = Emitter(chosen)
    emitter.emit(numbered(EventType.START, 0))
    until(lambda: caplog.messages, 30)
    emitter.close(0.5)
    (message,) = (m for m in caplog.messages if m.startswith("headwater"))
    assert "events wait on disk" in message
    assert "\n" not in message
    assert list((tmp_path / "spool").rglob("*.json"))


def test_backend_that_is_down_and_comes_back(tmp_path: Path) -> None:
    down = Receiver()
    port = down.port
    down.close()
    emitter = Emitter(settings(tmp_path, f"http://127.0.0.1:{port}"))
    emitter.emit(numbered(EventType.START, 0))
    emitter.emit(numbered(EventType.ABORT, 1))
    emitter.flush(0.5)
    back = Receiver(port)
    back.wait_for(lambda r: len(r.events) == 2)
    emitter.close()
    back.close()
    assert [event["eventType"] for event in back.events] == ["START", "ABORT"]


def test_refused_event_does_not_block_the_next(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answer = 422
    emitter = Emitter(settings(tmp_path, receiver.url))
    emitter.emit(numbered(EventType.START, 0))
    emitter.flush(5)
    receiver.answer = 201
    emitter.emit(numbered(EventType.COMPLETE, 1))
    emitter.close()
    assert numbers(receiver) == [1]
    assert emitter.refused == 1


def test_full_spool_drops_the_oldest_heartbeats_only(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, "one", 8_000)
    spool.put(numbered(EventType.START, 0))
    for number in range(1, 60):
        spool.put(numbered(EventType.RUNNING, number))
    spool.put(numbered(EventType.FAIL, 60))
    kept = []
    while (found := spool.oldest()) is not None:
        kept.append(found[1]["run"]["facets"]["n"]["number"])
        spool.done(found[0])
    spool.close()
    assert kept[0] == 0
    assert kept[-1] == 60
    assert kept[1:] == list(range(61 - len(kept) + 1, 61))
    assert spool.dropped == 61 - len(kept)


def test_spool_of_a_killed_process_is_delivered_by_the_next(
    tmp_path: Path, receiver: Receiver
) -> None:
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from headwater.capture.emitter import Emitter\n"
        "from headwater.capture.events import *\n"
        "from headwater.capture.settings import Settings\n"
        "run = RunName('0197f0c0-0000-7000-8000-000000000001', JobName('test', 'job'))\n"
        "e = Emitter(Settings(url='http://127.0.0.1:1', spool_dir=sys.argv[1]))\n"
        "for n in range(3):\n"
        "    e.emit(run_event(EventType.RUNNING, run, run_facets={'n': {'number': n}}))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, script, str(tmp_path / "spool")], check=False)
    assert killed.returncode == -9
    left = next((tmp_path / "spool").iterdir())
    os.utime(left, (1, 1))
    emitter = Emitter(settings(tmp_path, receiver.url))
    emitter.emit(numbered(EventType.START, 3))
    emitter.close()
    assert numbers(receiver) == [0, 1, 2, 3]


def test_spool_of_a_living_process_is_left_alone(tmp_path: Path, receiver: Receiver) -> None:
    one = Emitter(settings(tmp_path, "http://127.0.0.1:1"))
    one.emit(numbered(EventType.START, 0))
    os.utime(next((tmp_path / "spool").iterdir()), (1, 1))
    two = Emitter(settings(tmp_path, receiver.url))
    two.emit(numbered(EventType.START, 1))
    two.close()
    one.close(0)
    assert numbers(receiver) == [1]


def test_emit_returns_though_the_backend_hangs(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        emitter = Emitter(settings(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}"))
        for number in range(100):
            emitter.emit(numbered(EventType.RUNNING, number))
        assert emitter.waiting == 100
        emitter.close(0)
