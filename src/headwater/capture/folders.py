"""Folders and files that only their owner can read: events name tables, columns and errors."""

import os
import tempfile
from pathlib import Path


def make_private(path: Path) -> None:
    """Create a folder, and those above it that are missing, for the owner alone.

    Raises: OSError, when it cannot be created or is someone else's.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    _check_owner(path)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all.

    Raises: OSError.
    """
    part = path.with_suffix(".part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        part.rename(path)
    except OSError:
        if not part.is_symlink():
            part.unlink(missing_ok=True)
        raise


def is_own(path: Path) -> bool:
    """Whether a folder is the owner's alone, so that nobody else has put something into it."""
    found = path.lstat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _check_owner(path: Path) -> None:
    """Refuse a folder that someone else made where everyone may, such as `/tmp`."""
    shared = Path(tempfile.gettempdir())
    below = [folder for folder in (path, *path.parents) if shared in folder.parents]
    for folder in below or [path]:
        if folder.stat().st_uid not in (os.geteuid(), 0) or folder.lstat().st_uid not in (
            os.geteuid(),
            0,
        ):
            raise PermissionError(f"{folder} belongs to another user")
