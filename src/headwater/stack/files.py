"""Files that are whole or not there: atomic writes, locks between processes, room on disk."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from headwater.errors import DiskFull, UsageError


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = content.encode() if isinstance(content, str) else content
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(raw)
            file.flush()
            os.fchmod(file.fileno(), mode)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for; the system drops it if this one dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def require_room(path: Path, needed: int) -> None:
    """Check that a file system has room for so many bytes.

    Raises:
        DiskFull: it has not.

    """
    path.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path).free
    if free < needed:
        raise DiskFull(str(path), needed_mb=needed // 2**20 + 1, free_mb=free // 2**20)


@contextmanager
def disk_faults_are_told(path: Path) -> Iterator[None]:
    """Turn a full disk, or a folder that cannot be used, into errors that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(path) from error
        if error.filename is None:
            raise
        raise UsageError(
            f"{error.filename} cannot be used: {error.strerror}",
            hint="Set HEADWATER_HOME (data) or HEADWATER_CACHE (jars) to a writable folder",
        ) from error


def disk_full(path: Path) -> DiskFull:
    """The error for a disk that is full, though nobody knows how much would have been enough."""
    free = shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
    return DiskFull(str(path), needed_mb=free // 2**20 + 100, free_mb=free // 2**20)
