"""The jar lock: every file that the Java side runs, by coordinates and checksum."""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec


class Jar(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One file of a Maven repository, with what it must hash to."""

    group: str
    artifact: str
    version: str
    sha256: str
    size: int
    classifier: str = ""
    type: str = "jar"

    @property
    def file_name(self) -> str:
        """The file's name in a Maven repository."""
        tail = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{tail}.{self.type}"

    @property
    def relative_path(self) -> Path:
        """Where the file lies in our cache: two groups may use one file name."""
        return Path(self.group, self.file_name)


class Lock(msgspec.Struct, frozen=True):
    """Named sets of jars; a service asks for one or more sets."""

    sets: Mapping[str, tuple[Jar, ...]]

    def jars(self, names: Iterable[str]) -> tuple[Jar, ...]:
        """The jars of several sets, each once, in the order of the lock."""
        return tuple(dict.fromkeys(jar for name in names for jar in self.sets[name]))


@cache
def load() -> Lock:
    """Read the lock that ships with this version of Headwater."""
    text = files("headwater.stack").joinpath("jars.lock.toml").read_text(encoding="utf-8")
    return Lock(sets=msgspec.convert(tomllib.loads(text), dict[str, tuple[Jar, ...]]))


def sha256(path: Path) -> str:
    """The checksum of a file, as the lock writes it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
