"""The events that wait: a bounded folder of small files, in order, that outlives a crash.

Each process has a folder of its own and holds a lock on it. A folder whose lock is free was
left behind by a process that is gone; whoever comes next delivers what is in it first. Where no
folder can be used, events wait in memory.
"""

import contextlib
import fcntl
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headwater.capture.events import Event, is_heartbeat
from headwater.capture.folders import is_own, make_private, write_private
from headwater.openlineage.lifecycle import ENDINGS

_HEARTBEAT, _LASTING, _TERMINAL = "h", "e", "t"
_NAME = re.compile(r"(\d{12})-([het])(?:-([0-9a-f]{8}))?\.json")
_FOLDER = re.compile(r"[0-9a-f]{32}")
_PARTS = frozenset({"eventType", "eventTime", "run", "job"})
_SETTLED_SECONDS = 2.0
_LOCK = "lock"


class _Entry:
    """One event that waits: in a file, or in memory when the disk did not take it."""

    __slots__ = ("event", "kind", "path", "run", "size")

    def __init__(self, kind: str, run: str, size: int) -> None:
        self.kind, self.run, self.size = kind, run, size
        self.path: Path | None = None
        self.event: Event | None = None


class Spool:
    """One process's waiting events, oldest first; without a folder they wait in memory."""

    def __init__(self, folder: Path | None, limit_bytes: int) -> None:
        self.folder, self._limit = folder, limit_bytes
        self._lock_file = _opened(folder) if folder is not None else None
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry] = {}
        self._heartbeats: dict[int, None] = {}
        self._superseded: dict[int, None] = {}  # told again by the end of their run, which waits
        self._open: dict[str, list[int]] = {}  # starts and changes of runs whose end does not wait
        self.size = 0
        self._next = 0
        self.dropped = 0
        if folder is not None:
            self._load(folder)

    def put(self, event: Event) -> None:
        """Add an event at the end; when there is no room, older ones make room for it.

        Raises: OSError when it could not be written; all but a heartbeat is then held in memory.
        """
        data = json.dumps(event, separators=(",", ":")).encode()
        entry = _Entry(_kind(event), str(event["run"]["runId"]).replace("-", "")[:8], len(data))
        with self._lock:
            number = self._next
            failure = None
            if len(data) > self._limit:
                self.dropped += 1
                return
            try:
                entry.path = self._write(number, entry, data)
            except OSError as error:
                failure = error
            if entry.path is None:
                if failure is not None and entry.kind == _HEARTBEAT:
                    self.dropped += 1
                    raise failure
                entry.event = event
            self._remember(number, entry)
            self._make_room(self._limit)
        if failure is not None:
            raise failure

    def oldest(self) -> tuple[int, Event] | None:
        """The event to deliver next, with its number."""
        with self._lock:
            while self._entries:
                number = next(iter(self._entries))
                event = _read(self._entries[number])
                if event is not None:
                    return number, event
                self._forget(number)  # torn by a crash in mid-write
        return None

    def other(self, number: int) -> tuple[int, Event, bool] | None:
        """The first event of another run than that of an event; else the event after it.

        With it comes whether it is of another run.
        """
        with self._lock:
            head = self._entries.get(number)
            behind = [one for one in self._entries if one != number]
            run = head.run if head is not None else ""
            others = (one for one in behind if self._entries[one].run != run)
            found = next(others, behind[0] if behind else None)
            event = _read(self._entries[found]) if found is not None else None
            if found is None or event is None:
                return None
            return found, event, self._entries[found].run != run

    def done(self, number: int) -> None:
        """Remove an event that was delivered."""
        with self._lock:
            self._forget(number)

    def shrink(self, limit_bytes: int) -> None:
        """Drop the oldest events beyond a size."""
        with self._lock:
            self._make_room(limit_bytes)

    def __len__(self) -> int:
        return len(self._entries)

    def close(self) -> None:
        """Leave the folder to whoever comes next, or remove it if nothing waits."""
        with self._lock:
            if self.folder is None or self._lock_file is None:
                return
            for number, entry in self._entries.items():
                if entry.event is not None:  # the last chance of what a full disk refused
                    with contextlib.suppress(OSError):
                        data = json.dumps(entry.event, separators=(",", ":")).encode()
                        self._write(number, entry, data)
            if not self._entries:
                with contextlib.suppress(OSError):  # someone else's files stay, and so the folder
                    (self.folder / _LOCK).unlink(missing_ok=True)
                    self.folder.rmdir()
            self._lock_file.close()

    def _load(self, folder: Path) -> None:
        with os.scandir(folder) as found:
            files = sorted((one.name, one) for one in found if _NAME.fullmatch(one.name))
        for name, file in files:
            parts = _NAME.fullmatch(name)
            if parts is None or not file.is_file(follow_symlinks=False):
                continue
            if int(parts[1]) in self._entries:
                continue  # no two of one number are ours
            entry = _Entry(parts[2], parts[3] or "", file.stat().st_size)
            entry.path = Path(file.path)
            self._remember(int(parts[1]), entry)

    def _write(self, number: int, entry: _Entry, data: bytes) -> Path | None:
        if self.folder is None:
            return None
        path = self.folder / f"{number:012d}-{entry.kind}-{entry.run:0>8.8}.json"
        if not _NAME.fullmatch(path.name):
            path = self.folder / f"{number:012d}-{entry.kind}.json"
        write_private(path, data)
        return path

    def _make_room(self, limit_bytes: int) -> None:
        """Drop heartbeats first, then what the end of a run tells again, then the oldest."""
        while self.size > limit_bytes and self._entries:
            for droppable in (self._heartbeats, self._superseded, self._entries):
                if droppable:
                    self._forget(next(iter(droppable)))
                    self.dropped += 1
                    break

    def _remember(self, number: int, entry: _Entry) -> None:
        self._entries[number] = entry
        self.size += entry.size
        self._next = max(self._next, number + 1)
        if entry.kind == _HEARTBEAT:
            self._heartbeats[number] = None
        elif entry.kind == _LASTING:
            self._open.setdefault(entry.run, []).append(number)
        else:
            self._superseded.update(
                (one, None) for one in self._open.pop(entry.run, ()) if one in self._entries
            )

    def _forget(self, number: int) -> None:
        entry = self._entries.pop(number, None)
        if entry is None:
            return
        self.size -= entry.size
        self._heartbeats.pop(number, None)
        self._superseded.pop(number, None)
        waiting = self._open.get(entry.run)
        if waiting is not None and number in waiting:
            waiting.remove(number)
            if not waiting:
                del self._open[entry.run]
        if entry.path is not None:
            with contextlib.suppress(OSError):
                entry.path.unlink(missing_ok=True)


def open_spool(base: Path, name: str, limit_bytes: int) -> Spool:
    """A new spool in a folder that only its owner can read.

    Raises: OSError, when there can be none.
    """
    make_private(base)
    folder = base / name
    folder.mkdir(mode=0o700)
    return Spool(folder, limit_bytes)


def abandoned(base: Path, own: str, limit_bytes: int) -> list[Spool]:
    """The spools of processes that are gone, oldest first, together no larger than the limit."""
    spools = []
    for folder in sorted(_folders(base, own), key=_changed):
        with contextlib.suppress(OSError):  # locked, or not to be read
            spools.append(Spool(folder, limit_bytes))
    room = limit_bytes
    for spool in reversed(spools):
        spool.shrink(room)
        room = max(0, room - spool.size)
    return spools


def _folders(base: Path, own: str) -> Iterator[Path]:
    """What a process made and left: other folders are nobody's business here."""
    for path in base.iterdir():
        with contextlib.suppress(OSError):
            if (
                _FOLDER.fullmatch(path.name)
                and path.name != own
                and path.is_dir()
                and not path.is_symlink()
                and is_own(path)
                and (path / _LOCK).is_file()
                # Perhaps it was just made, and is about to be locked.
                and time.time() - _changed(path) >= _SETTLED_SECONDS
            ):
                yield path


def _kind(event: Event) -> str:
    if is_heartbeat(event):
        return _HEARTBEAT
    return _TERMINAL if event["eventType"] in ENDINGS else _LASTING


def _read(entry: _Entry) -> Event | None:
    if entry.event is not None or entry.path is None:
        return entry.event
    try:
        event = json.loads(entry.path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and event.keys() >= _PARTS else None


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def _opened(folder: Path) -> IO[bytes]:
    """The lock of a folder, held.

    Raises: BlockingIOError, when another process holds it; OSError.
    """
    handle = os.fdopen(
        os.open(folder / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb"
    )
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise
    return handle
