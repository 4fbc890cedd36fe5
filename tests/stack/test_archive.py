"""Archives of the jar lock, unpacked."""

import os
import tarfile
from pathlib import Path

import pytest

from headwater.errors import ArchiveDamaged
from headwater.stack.archive import unpack


def archive(folder: Path, *, owner: int = 1234) -> Path:
    (folder / "inner").mkdir()
    (folder / "inner" / "tool").write_text("content")
    (folder / "inner" / "tool").chmod(0o755)
    path = folder / "packed.tar.gz"

    def owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = owner
        return entry

    with tarfile.open(path, "w:gz") as packed:
        packed.add(folder / "inner", "inner", filter=owned)
    return path


def test_files_keep_content_and_mode_and_belong_to_this_user(tmp_path: Path) -> None:
    target = tmp_path / "target"
    unpack(archive(tmp_path), target)
    tool = target / "inner" / "tool"
    assert tool.read_text() == "content"
    assert tool.stat().st_mode & 0o777 == 0o755
    assert tool.stat().st_uid == os.getuid()


@pytest.mark.parametrize("cut", [0, 10, 60])
def test_a_damaged_archive_is_named(tmp_path: Path, cut: int) -> None:
    path = archive(tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ArchiveDamaged, match=r"packed\.tar\.gz"):
        unpack(path, tmp_path / "target")
