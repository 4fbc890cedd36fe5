"""One worker for one state: a lock on a folder, or a lease in an object store."""

import contextlib
import fcntl
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import SparkSession

from headwater.errors import StateInUse
from headwater.pipeline.sinks.objects import ObjectStore

_log = logging.getLogger(__name__)
_LEASE_S, _RENEW_S, _POLL_S = 30.0, 8.0, 1.0
_TAKEN = (409, 412)


class Hold(Protocol):
    """What a worker holds while it uses a state."""

    def release(self) -> None:
        """Let others have it."""


class FolderLock:
    """A lock that ends with this process, however it ends.

    Raises:
        StateInUse: another process holds it.

    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        path = folder / "lock"
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._file.read().strip() or "its lock is held"
            self._file.close()
            raise StateInUse(str(folder), holder) from None
        self._file.truncate(0)
        self._file.write(f"pid {os.getpid()}")
        self._file.flush()

    def release(self) -> None:
        """Let others have it."""
        self._file.close()


class _Holder(msgspec.Struct, frozen=True):
    id: str
    host: str
    pid: int
    renewed: float

    @property
    def is_gone(self) -> bool:
        """Whether it is known to have ended: a process of this machine that is not there."""
        return self.host == socket.gethostname() and not _exists(self.pid)


class Lease:
    """An object that its holder renews; whoever finds it not renewed for a while may take it.

    Raises:
        StateInUse: another worker renews it.

    """

    def __init__(
        self,
        store: ObjectStore,
        key: str,
        place: str,
        lost: Callable[[str], None],
        *,
        lease_s: float = _LEASE_S,
        renew_s: float = _RENEW_S,
    ) -> None:
        self._store, self._key, self._place, self._lost = store, key, place, lost
        self._lease_s, self._renew_s = lease_s, renew_s
        self._id = uuid.uuid4().hex
        self._tag = self._take()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Let others have it at once."""
        self._ended.set()
        self._thread.join()
        with contextlib.suppress(BotoCoreError, ClientError):
            self._store.remove([self._key])

    def _take(self) -> str:
        limit = time.monotonic() + self._lease_s
        first = self._store.tagged(self._key)
        while first is not None and time.monotonic() < limit:
            found = self._store.tagged(self._key)
            if found is None or _holder(found[0]).is_gone:
                break
            if found[1] != first[1]:
                holder = _holder(found[0])
                raise StateInUse(self._place, f"pid {holder.pid} on {holder.host}")
            _log.info("waiting for the lease on %s to run out", self._place)
            time.sleep(_POLL_S)
        found = self._store.tagged(self._key)
        return self._write(found[1] if found else None)

    def _write(self, tag: str | None) -> str:
        holder = _Holder(self._id, socket.gethostname(), os.getpid(), time.time())
        try:
            return self._store.put_if(self._key, msgspec.json.encode(holder), tag)
        except ClientError as error:
            if _status(error) not in _TAKEN:
                raise
            # A write whose answer was lost is repeated, and then finds itself in its way.
            found = self._store.tagged(self._key)
            if found is not None and _holder(found[0]).id == self._id:
                return found[1]
            raise StateInUse(self._place, "it has just taken it") from error

    def _renew(self) -> None:
        pause = self._renew_s
        while not self._ended.wait(pause):
            try:
                self._tag = self._write(self._tag)
                pause = self._renew_s
            except StateInUse:
                self._lost(f"another worker has taken the state in {self._place}")
                return
            except (BotoCoreError, ClientError) as error:
                # Another worker may have it when the store is back: that is to be seen soon.
                pause = min(_POLL_S, self._renew_s)
                _log.warning("the lease on %s cannot be renewed now: %s", self._place, error)


def lease(spark: SparkSession, state: str, lost: Callable[[str], None]) -> Lease:
    """Take a state in an object store for this worker.

    Raises:
        StateInUse: another worker has it.

    """
    bucket, _, path = state.partition("://")[2].partition("/")
    key = f"{path.strip('/')}/worker.lease".lstrip("/")
    return Lease(ObjectStore(spark, bucket), key, state, lost)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _holder(document: bytes) -> _Holder:
    return msgspec.json.decode(document, type=_Holder)


def _status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
