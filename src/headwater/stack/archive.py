"""Tar archives, unpacked the same way by every Python from 3.11.0 on."""

import gzip
import os
import tarfile
import zlib
from pathlib import Path

from headwater.errors import ArchiveDamaged


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive whose digest was verified into a folder, as files of this user.

    Raises:
        ArchiveDamaged: it cannot be read as an archive.

    """
    try:
        with tarfile.open(archive) as content:
            # Filters came with Python 3.11.4 (Debian 12 has 3.11.2), and the argument with them.
            content.extraction_filter = getattr(tarfile, "data_filter", None)
            content.extractall(folder, members=[_owned(one) for one in content])  # noqa: S202
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveDamaged(str(archive), str(error)) from error


def _owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Give an entry to this user: root would give it to whoever packed it."""
    entry.uid, entry.gid, entry.uname, entry.gname = os.getuid(), os.getgid(), "", ""
    return entry
