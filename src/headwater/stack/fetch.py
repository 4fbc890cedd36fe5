"""The jar cache of a user: what the lock names, fetched once, verified, and safe to share."""

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import mkdtemp

from headwater.errors import ChecksumMismatch, FetchFailed, UsageError
from headwater.stack import ivy
from headwater.stack.archive import unpack
from headwater.stack.files import disk_faults_are_told, locked, require_room
from headwater.stack.ivy import Wanted
from headwater.stack.lock import Jar, sha256

# How the fetch tells a watcher where it is: bytes so far, bytes in all.
Progress = Callable[[int, int], None]


class JarCache:
    """The files of the lock on this machine."""

    def __init__(self, root: Path, *, ivy_settings: Path | None = None) -> None:
        self.root = root
        self._ivy_settings = ivy_settings

    def path(self, jar: Jar) -> Path:
        """Where a jar lies once it is here."""
        return self.root / "jars" / jar.relative_path

    def missing(self, jars: Iterable[Jar], *, verify: bool = False) -> list[Jar]:
        """The jars that are not here whole; `verify` reads and hashes each one.

        Files are renamed into place after their checksum was right, so the size alone tells a
        file that was cut or overwritten later, at no cost.
        """
        return [jar for jar in jars if not self._whole(jar, verify)]

    def ensure(
        self,
        jars: Iterable[Jar],
        java: Path,
        *,
        verify: bool = False,
        progress: Progress | None = None,
    ) -> list[str]:
        """Fetch what is missing; name the files that were here, but damaged.

        Raises:
            FetchFailed: a file could not be had.
            ChecksumMismatch: a file is another one than the lock names, twice in a row.
            DiskFull: there is no room for the files.
            UsageError: the Ivy settings file is not there.

        """
        jars = tuple(jars)
        if not self.missing(jars, verify=verify):
            return []
        if self._ivy_settings is not None and not self._ivy_settings.is_file():
            raise UsageError(
                f"the Ivy settings file {self._ivy_settings} does not exist",
                hint="Set HEADWATER_IVY_SETTINGS to an existing file, or unset it",
            )
        with locked(self.root / "fetch.lock"), disk_faults_are_told(self.root):
            lacking = self.missing(jars, verify=verify)
            damaged = [jar.file_name for jar in lacking if self.path(jar).exists()]
            if lacking:
                require_room(self.root, 2 * sum(jar.size for jar in lacking))
                self._fetch(lacking, java, progress)
            return damaged

    def unpacked(self, jar: Jar) -> Path:
        """The folder with an archive's content, unpacked once."""
        folder = self.root / "unpacked" / jar.sha256[:16]
        if not folder.exists():
            with locked(self.root / "unpack.lock"), disk_faults_are_told(self.root):
                if not folder.exists():
                    self._unpack(jar, folder)
        return folder

    def _whole(self, jar: Jar, verify: bool) -> bool:
        path = self.path(jar)
        if not path.exists() or path.stat().st_size != jar.size:
            return False
        return not verify or sha256(path) == jar.sha256

    def _fetch(self, jars: list[Jar], java: Path, progress: Progress | None) -> None:
        work = self.root / "incoming"
        wrong = self._attempt(jars, java, work, progress)
        if wrong:
            # A transfer can be cut in a way that nobody notices: once more, from nothing.
            shutil.rmtree(work)
            wrong = self._attempt(list(wrong), java, work, progress)
        shutil.rmtree(work)
        for jar, actual in wrong.items():
            raise ChecksumMismatch(jar.file_name, jar.sha256, actual)

    def _attempt(
        self, jars: list[Jar], java: Path, work: Path, progress: Progress | None
    ) -> dict[Jar, str]:
        """Run Ivy once and take over what is right; give back what is wrong, with its hash."""
        output = self._run_ivy(jars, java, work, progress)
        came = {jar: work / "files" / jar.relative_path for jar in jars}
        if not all(path.exists() for path in came.values()):
            # Ivy hands out nothing when one file is missing: take the others, then tell.
            absent = [jar for jar in jars if f"{jar.group}#{jar.artifact};" in _problems(output)]
            others = [jar for jar in jars if jar not in absent]
            if absent and others:
                self._attempt(others, java, work, progress)
            raise FetchFailed([jar.file_name for jar in absent or jars], _reason(output))
        hashes = {jar: sha256(path) for jar, path in came.items()}
        for jar, path in came.items():
            if hashes[jar] == jar.sha256:
                self.path(jar).parent.mkdir(parents=True, exist_ok=True)
                path.replace(self.path(jar))
        return {jar: actual for jar, actual in hashes.items() if actual != jar.sha256}

    def _run_ivy(self, jars: list[Jar], java: Path, work: Path, progress: Progress | None) -> str:
        run = ivy.start(
            java,
            work,
            [Wanted(j.group, j.artifact, j.version, j.classifier, j.type) for j in jars],
            pattern="files/[organisation]/[artifact]-[revision](-[classifier]).[ext]",
            settings=self._ivy_settings,
        )
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(work / "ivy", jars, progress, done))
        watcher.start()
        try:
            output, _ = run.communicate()
        except BaseException:
            run.kill()
            run.wait()
            raise
        finally:
            done.set()
            watcher.join()
        return output

    def _unpack(self, jar: Jar, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(dir=folder.parent, prefix=".part-"))
        try:
            unpack(self.path(jar), part)
            part.replace(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def _watch(folder: Path, jars: list[Jar], progress: Progress | None, done: threading.Event) -> None:
    """Tell how far Ivy is by the size of what it has written."""
    total = sum(jar.size for jar in jars)
    while progress is not None and not done.wait(0.2):
        progress(min(total, _size(folder)), total)


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        # Ivy renames its files while we look.
        with contextlib.suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size


def _problems(output: str) -> str:
    """The end of Ivy's output, where it lists what it could not get."""
    return output.partition(":: problems summary ::")[2]


def _reason(output: str) -> str:
    """The line of Ivy's output that tells most."""
    lines = [line.strip() for line in output.splitlines()]
    for sign in ("Exception", "No space left", "ERROR", "not found"):
        for line in lines:
            if sign in line:
                return line[:200]
    return "the repository does not have it"
