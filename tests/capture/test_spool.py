"""The spool has an end, faults stay with the event that has them, and nobody else reads it."""

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.receiver import Receiver
from headwater.capture.emitter import Emitter
from headwater.capture.events import Event, RunName, run_event
from headwater.capture.folders import is_own
from headwater.capture.restarts import Restarts
from headwater.capture.settings import Settings, read_settings
from headwater.capture.spool import Spool, abandoned, open_spool
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

_NOBODY = 65_534


def event(number: int, run: int = 0, moment: EventType = EventType.START, size: int = 0) -> Event:
    name = RunName(f"{run:08x}-0000-7000-8000-000000000000", JobName("test", f"job {run}"))
    datasets = [{"namespace": "n", "name": "d"}] if moment is EventType.RUNNING else []
    facets = {"n": {"number": number, "padding": "x" * size}}
    return run_event(moment, name, run_facets=facets, inputs=datasets)


def heartbeat(number: int, run: int = 0) -> Event:
    return {**event(number, run, EventType.RUNNING), "inputs": []}


def number_of(told: dict[str, Any]) -> int:
    return int(told["run"]["facets"]["n"]["number"])


def drain(spool: Spool) -> list[Event]:
    found = []
    while (head := spool.oldest()) is not None:
        found.append(head[1])
        spool.done(head[0])
    return found


@contextmanager
def emitting(url: str, folder: str | Path, **more: float) -> Iterator[Emitter]:
    emitter = Emitter(Settings(url=url, spool_dir=str(folder), **more))  # type: ignore[arg-type]
    try:
        yield emitter
    finally:
        emitter.close(0)


_events = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([*EventType, None]), st.integers(0, 700)),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(_events, st.booleans())
def test_a_spool_never_holds_more_than_its_limit(
    told: list[tuple[int, EventType | None, int]], in_memory: bool
) -> None:
    limit = 5_000
    with tempfile.TemporaryDirectory() as base:
        spool = Spool(None, limit) if in_memory else open_spool(Path(base), "0" * 32, limit)
        for number, (run, moment, size) in enumerate(told):
            spool.put(event(number, run, moment, size) if moment else heartbeat(number, run))
            files = [*Path(base).rglob("*.json")]
            assert sum(file.stat().st_size for file in files) <= spool.size <= limit
        kept = [number_of(one) for one in drain(spool)]
        assert kept == sorted(kept)
        assert len(kept) + spool.dropped == len(told)
        assert not [*Path(base).rglob("*.json")]
        spool.close()


def test_the_ends_of_runs_are_dropped_last() -> None:
    spool = Spool(None, 20_000)
    for run in range(12):
        for moment in (EventType.START, EventType.RUNNING, EventType.COMPLETE):
            spool.put(event(run, run, moment, 600))
    kept = drain(spool)
    assert {one["eventType"] for one in kept if number_of(one) < 6} == {"COMPLETE"}
    assert [one["eventType"] for one in kept].count("COMPLETE") == 12


def test_what_ended_processes_left_is_no_more_than_the_limit(tmp_path: Path) -> None:
    for number in range(20):
        spool = open_spool(tmp_path, f"{number:032x}", 4_000)
        for one in range(5):
            spool.put(event(number * 10 + one, one, size=300))
        spool.close()
        os.utime(tmp_path / f"{number:032x}", (number + 1, number + 1))
    left = abandoned(tmp_path, "", 4_000)
    files = [*tmp_path.rglob("*.json")]
    assert 2_000 < sum(file.stat().st_size for file in files) <= 4_000
    assert number_of(drain(left[-1])[-1]) == 194  # the newest are kept
    for spool in left:
        spool.close()


def _a_file(folder: Path) -> Path:
    (folder / "file").write_text("")
    return folder / "file"


@pytest.mark.parametrize(
    "unusable",
    [
        lambda _: Path("/proc/none/spool"),
        _a_file,
        lambda folder: _a_file(folder) / "spool",
        lambda _: Path("/dev/null"),
    ],
)
def test_without_a_folder_events_wait_in_memory(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture, unusable: Any
) -> None:
    receiver.answer = 500
    with emitting(receiver.url, unusable(tmp_path)) as emitter:
        for number in range(20):
            emitter.emit(event(number, number))
        assert emitter.waiting == 20
        receiver.answer = 201
        receiver.wait_for(lambda r: len(r.events) == 20)
    assert [number_of(one) for one in receiver.events] == [*range(20)]
    assert "events wait in memory" in caplog.text


def test_files_and_folders_of_others_are_left_alone(tmp_path: Path, receiver: Receiver) -> None:
    base, dead = tmp_path / "spool", "a" * 32
    spool = open_spool(base, dead, 100_000)
    spool.put(event(1))
    spool.close()
    (base / dead / ".DS_Store").write_text("?")
    (base / dead / "notes-about-this.json").write_text("{}")
    (base / dead / "000000000000-e.json").write_text("torn {")
    (base / dead / "000000000002-e.json").mkdir()
    (base / dead / "000000000003-e.json").write_text("[1, 2]")
    (base / dead / "000000000004-e.json").symlink_to("/etc/hostname")
    (base / "README").write_text("mine")
    (base / "photos").mkdir()
    (base / "photos" / "cat").write_text("mine")
    (base / ("b" * 32)).symlink_to(base / "photos")
    os.utime(base / dead, (1, 1))
    with emitting(receiver.url, base) as emitter:
        emitter.emit(event(2))
        receiver.wait_for(lambda r: len(r.events) == 2)
    assert [number_of(one) for one in receiver.events] == [1, 2]
    assert (base / "photos" / "cat").read_text() == (base / "README").read_text() == "mine"
    assert (base / dead / ".DS_Store").exists()


def test_only_the_owner_can_read_a_spool(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = tmp_path / "state" / "spool"
        with emitting("http://127.0.0.1:1", folder) as emitter:
            emitter.emit(event(0))
            Restarts(folder.with_name("queries")).facet("q", "r")
            found = [*(tmp_path / "state").rglob("*")]
            assert len(found) == 6
            for path in (tmp_path / "state", *found):
                wanted = 0o700 if path.is_dir() else 0o600
                assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    finally:
        os.umask(before)


def test_without_a_home_the_spool_is_the_users_own(tmp_path: Path) -> None:
    found = Path(read_settings({}, {}, {}).spool_dir)
    assert str(os.geteuid()) in found.parts[-2]
    assert Path(tempfile.gettempdir()) in found.parents
    assert not is_own(Path(tempfile.gettempdir()))
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    assert is_own(own)
    own.chmod(0o777)
    assert not is_own(own)


def test_a_folder_that_someone_else_made_is_not_used(tmp_path: Path, receiver: Receiver) -> None:
    base = tmp_path / "spool"
    base.mkdir(mode=0o777)
    if os.geteuid() == 0:
        os.chown(base, _NOBODY, _NOBODY)
    else:
        base = Path("/proc/1/cwd")  # root's
    with emitting(receiver.url, base) as emitter:
        emitter.emit(event(0))
        receiver.wait_for(lambda r: len(r.events) == 1)
    assert not [*(tmp_path / "spool").iterdir()]


def test_a_full_disk_loses_heartbeats_only(tmp_path: Path, receiver: Receiver) -> None:
    """A limit on the size of files is to a process what a full disk is."""
    script = tmp_path / "full.py"
    script.write_text(
        "import resource, sys\n"
        "from capture.test_spool import *\n"
        "with emitting(sys.argv[1], sys.argv[2]) as emitter:\n"
        "    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (10, most))\n"
        "    emitter.emit(event(0))\n"
        "    emitter.emit(heartbeat(1))\n"
        "    emitter.emit(event(2, moment=EventType.ABORT))\n"
        "    assert emitter.dropped == 1\n"
        "    assert emitter.flush(60)\n"
    )
    done = subprocess.run(
        [sys.executable, script, receiver.url, str(tmp_path / "spool")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [number_of(one) for one in receiver.events] == [0, 2]
    assert "the spool cannot be written" in done.stderr


@pytest.mark.parametrize("status", [400, 410, 413, 415, 422])
def test_refused_events_are_set_aside_and_counted(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    receiver.judge = lambda told: status if number_of(told) % 2 else 201
    with emitting(receiver.url, tmp_path / "spool") as emitter:
        for number in range(24):
            emitter.emit(event(number, number % 3))
        assert emitter.flush(60)
        assert emitter.refused == 12
    assert [number_of(one) for one in receiver.events] == [*range(0, 24, 2)]
    aside = [json.loads(file.read_text()) for file in (tmp_path / "spool" / "refused").iterdir()]
    assert sorted(number_of(one) for one in aside) == [*range(1, 24, 2)]
    counted = re.findall(r"(\d+) events were refused by the backend and set aside", caplog.text)
    assert counted == ["1", "10"]
    assert "12 were refused by the backend" in caplog.text


@pytest.mark.parametrize("status", [500, 403, 429, 0])
@pytest.mark.parametrize("same_run", [True, False])
def test_one_event_that_never_passes_stops_no_other(
    tmp_path: Path, receiver: Receiver, status: int, same_run: bool
) -> None:
    receiver.judge = lambda told: status if number_of(told) == 1 else 201
    with emitting(receiver.url, tmp_path / "spool") as emitter:
        for number in range(6):
            emitter.emit(event(number, 0 if same_run else number % 2))
        receiver.wait_for(lambda r: len(r.events) == 5)
        assert emitter.flush(60)
        assert emitter.refused == 1
    for run in range(2):
        told = [one for one in receiver.events if one["job"]["name"] == f"job {run}"]
        numbers = [number_of(one) for one in told]
        assert numbers == sorted(numbers)
    (aside,) = (tmp_path / "spool" / "refused").iterdir()
    assert number_of(json.loads(aside.read_text())) == 1


@pytest.mark.parametrize("status", [500, 401, 404, 0])
def test_an_outage_sets_nothing_aside(tmp_path: Path, receiver: Receiver, status: int) -> None:
    asked: list[int] = []

    def judge(told: dict[str, Any]) -> int:
        asked.append(number_of(told))
        return status if len(asked) < 9 else 201

    receiver.judge = judge
    with emitting(receiver.url, tmp_path / "spool") as emitter:
        for number in range(6):
            emitter.emit(event(number, number % 2))
        while len(receiver.events) < 6:
            emitter.flush(0.1)  # which ends the pauses
        assert emitter.flush(60)
        assert emitter.refused == 0
    for run in range(2):
        told = [one for one in receiver.events if one["job"]["name"] == f"job {run}"]
        assert [number_of(one) for one in told] == [*range(run, 6, 2)]


def test_secrets_do_not_leave_the_driver(tmp_path: Path, receiver: Receiver) -> None:
    with emitting("http://127.0.0.1:1", tmp_path / "spool") as emitter:
        told = event(0)
        told["run"]["facets"]["errorMessage"] = {"message": "no answer of jdbc:x://u:hunter2@h"}
        emitter.emit(told)
    (file,) = tmp_path.rglob("*.json")
    assert "hunter2" not in file.read_text()
    assert "headwater_masked" in file.read_text()
