"""The doctor: what this machine has, and lacks, to run the platform."""

import os
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec
import psutil

from headwater.errors import HeadwaterError
from headwater.stack import lock, ports
from headwater.stack.catalog import DEMO, SERVICES
from headwater.stack.fetch import JarCache
from headwater.stack.java import java_home
from headwater.stack.plan import jar_sets
from headwater.stack.settings import Settings
from headwater.stack.supervisor import owner

_ROOM_GB = 2
_MEMORY_GB = 3
# The versions that `make pythons` runs, and modules that some builds of Python lack.
_OLDEST, _NEWEST = (3, 11), (3, 13)
_MODULES = ("_ctypes", "_sqlite3", "_ssl", "zlib")


class Finding(msgspec.Struct, frozen=True):
    """One thing the doctor looked at."""

    check: str
    level: Literal["ok", "warning", "missing"]
    fact: str
    hint: str = ""


def examine(settings: Settings) -> list[Finding]:
    """Look at everything a platform needs; nothing is started, fetched or changed."""
    return [check(settings) for check in _CHECKS]


def _python(_settings: Settings) -> Finding:
    fact = f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"
    lacking = [name for name in _MODULES if find_spec(name) is None]
    if lacking:
        hint = "Use a Python that was built with these modules, such as your distribution's"
        return Finding("python", "missing", f"{fact} lacks {', '.join(lacking)}", hint)
    if not _OLDEST <= sys.version_info[:2] <= _NEWEST:
        tested = " to ".join(".".join(map(str, one)) for one in (_OLDEST, _NEWEST))
        return Finding("python", "warning", fact, f"Headwater was tested with Python {tested}")
    return Finding("python", "ok", fact)


def _java(settings: Settings) -> Finding:
    try:
        return Finding("java", "ok", str(java_home(settings)))
    except HeadwaterError as error:
        return Finding("java", "missing", error.message, error.hint)


def _pyspark(_settings: Settings) -> Finding:
    try:
        return Finding("pyspark", "ok", version("pyspark"))
    except PackageNotFoundError:
        return Finding("pyspark", "missing", "not installed", "pip install 'headwater[stack]'")


def _jars(settings: Settings) -> Finding:
    wanted = lock.load().jars(jar_sets([SERVICES[name] for name in DEMO]))
    missing = JarCache(settings.cache).missing(wanted)
    here = f"{len(wanted) - len(missing)} of {len(wanted)} in {settings.cache}"
    if not missing:
        return Finding("jars", "ok", here)
    size = sum(jar.size for jar in missing) / 1e6
    hint = f"`headwater fetch` downloads the other {size:.0f} MB, and so does `headwater up`"
    return Finding("jars", "warning", here, hint)


def _home(settings: Settings) -> Finding:
    if os.access(_existing(settings.home), os.W_OK):
        return Finding("home", "ok", str(settings.home))
    hint = "Set HEADWATER_HOME to a writable folder"
    return Finding("home", "missing", f"{settings.home} is not writable", hint)


def _disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(_existing(settings.home)).free / 2**30
    if free >= _ROOM_GB:
        return Finding("disk", "ok", f"{free:.0f} GB free")
    hint = "Free disk space, or set HEADWATER_HOME and HEADWATER_CACHE to another disk"
    return Finding("disk", "warning", f"{free:.1f} GB free, {_ROOM_GB} GB recommended", hint)


def _memory(_settings: Settings) -> Finding:
    free = psutil.virtual_memory().available / 2**30
    if free >= _MEMORY_GB:
        return Finding("memory", "ok", f"{free:.0f} GB available")
    hint = "Start fewer services with `headwater up --only`"
    return Finding("memory", "warning", f"{free:.1f} GB available", hint)


def _ports(settings: Settings) -> Finding:
    if owner(settings.home) is not None:
        return Finding("ports", "ok", "in use by the running platform")
    busy = [f"{n} {SERVICES[n].port}" for n in DEMO if not ports.is_free(SERVICES[n].port)]
    if not busy:
        return Finding("ports", "ok", "the well-known ports are free")
    fact = f"in use: {', '.join(busy)}"
    return Finding("ports", "warning", fact, "`headwater up` will choose others for these")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())


_CHECKS: tuple[Callable[[Settings], Finding], ...] = (
    _python,
    _java,
    _pyspark,
    _jars,
    _home,
    _disk,
    _memory,
    _ports,
)
