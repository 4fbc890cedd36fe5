"""The events that wait: a bounded directory of small files, in order, that outlives a crash.

Each process has a folder of its own and holds a lock on it. A folder whose lock is free was
left behind by a process that is gone; whoever comes next delivers what is in it first.
"""

import contextlib
import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headwater.capture.events import Event, is_heartbeat

_HEARTBEAT, _LASTING = "h", "e"
_SETTLED_SECONDS = 2.0


class Spool:
    """One process's waiting events, oldest first."""

    def __init__(self, base: Path, name: str, limit_bytes: int) -> None:
        self._folder = base / name
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = _locked(self._folder)
        self._limit = limit_bytes
        self._guard = threading.Lock()
        self._files: dict[int, Path] = {}
        self._sizes: dict[int, int] = {}
        self._heartbeats: dict[int, None] = {}
        self._total = 0  # bytes: with a backend away for long, counting them anew takes time
        self._held: dict[int, Event] = {}  # what a full disk did not take
        self._next = 0
        self.dropped = 0
        for path in sorted(self._folder.glob("*.json")):
            self._remember(int(path.name.partition("-")[0]), path, path.stat().st_size)

    def put(self, event: Event) -> None:
        """Add an event at the end; the oldest heartbeats make room for it.

        Raises: OSError when it could not be written; all but a heartbeat is then held in memory.
        """
        data = _encoded(event)
        kind = _HEARTBEAT if is_heartbeat(event) else _LASTING
        with self._guard:
            number = self._next
            path = self._folder / f"{number:012d}-{kind}.json"
            part = path.with_suffix(".part")
            try:
                part.write_bytes(data)
                part.rename(path)
            except OSError:
                part.unlink(missing_ok=True)
                if kind == _LASTING:
                    self._held[number] = event
                    self._remember(number, path, 0)
                else:
                    self.dropped += 1
                raise
            self._remember(number, path, len(data))
            self._make_room()

    def oldest(self) -> tuple[int, Event] | None:
        """The event to deliver next, with its number."""
        with self._guard:
            while self._files:
                number = next(iter(self._files))
                if number in self._held:
                    return number, self._held[number]
                try:
                    event: Event = json.loads(self._files[number].read_bytes())
                except (OSError, ValueError):
                    self._forget(number)  # torn by a crash in mid-write
                    continue
                return number, event
        return None

    def done(self, number: int) -> None:
        """Remove an event that was delivered."""
        with self._guard:
            self._forget(number)

    def __len__(self) -> int:
        return len(self._files)

    def close(self) -> None:
        """Leave the folder to whoever comes next, or remove it if nothing waits."""
        with self._guard:
            self._lock_file.close()
            for number, event in self._held.items():
                with contextlib.suppress(OSError):  # the last chance of what a full disk refused
                    self._files[number].write_bytes(_encoded(event))
            if not self._files:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _make_room(self) -> None:
        while self._total > self._limit and self._heartbeats:
            self._forget(next(iter(self._heartbeats)))
            self.dropped += 1

    def _remember(self, number: int, path: Path, size: int) -> None:
        self._files[number], self._sizes[number] = path, size
        self._total += size
        if path.stem.endswith(_HEARTBEAT):
            self._heartbeats[number] = None
        self._next = max(self._next, number + 1)

    def _forget(self, number: int) -> None:
        path = self._files.pop(number, None)
        self._total -= self._sizes.pop(number, 0)
        self._heartbeats.pop(number, None)
        self._held.pop(number, None)
        if path is not None:
            path.unlink(missing_ok=True)


def _encoded(event: Event) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()


def abandoned(base: Path, own: str, limit_bytes: int) -> Iterator[Spool]:
    """The spools of processes that are gone, oldest first."""
    folders = [path for path in base.glob("*") if path.is_dir() and path.name != own]
    for folder in sorted(folders, key=_changed):
        if time.time() - _changed(folder) < _SETTLED_SECONDS:
            continue  # perhaps just made, and about to be locked
        try:
            yield Spool(base, folder.name, limit_bytes)
        except BlockingIOError:
            continue


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def _locked(folder: Path) -> IO[bytes]:
    handle = (folder / "lock").open("ab")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise
    os.set_inheritable(handle.fileno(), False)
    return handle
