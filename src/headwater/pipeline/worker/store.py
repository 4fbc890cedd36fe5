"""Where a worker keeps definitions of connectors: a folder, or a place in an object store."""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from pyspark.sql import SparkSession

from headwater.pipeline.files import Files
from headwater.pipeline.sinks.s3 import ensure_bucket

_LONGEST = 150


class DefinitionStore(Protocol):
    """Named documents, each written whole or not at all."""

    def read(self) -> dict[str, bytes]:
        """Every document, by the name of its file."""

    def write(self, file: str, document: bytes) -> None:
        """Keep a document."""

    def remove(self, file: str) -> None:
        """Forget a document."""


class LocalStore:
    """Documents in a local folder, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(parents=True, exist_ok=True)
        for one in (path.parent, path):
            one.chmod(0o700)
        for file in path.glob("*.json"):
            file.chmod(0o600)

    def read(self) -> dict[str, bytes]:
        """Every document, by the name of its file."""
        return {file.name: file.read_bytes() for file in self._path.glob("*.json")}

    def write(self, file: str, document: bytes) -> None:
        """Keep a document; one that is half written never takes the old one's place."""
        part = self._path / f"{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(part, flags, 0o600), "wb") as stream:
            stream.write(document)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(self._path / file)

    def remove(self, file: str) -> None:
        """Forget a document."""
        (self._path / file).unlink(missing_ok=True)


class RemoteStore:
    """Documents in an object store."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self._files = Files(spark, address)

    def read(self) -> dict[str, bytes]:
        """Every document, by the name of its file."""
        names = [name for name in self._files.names() if name.endswith(".json")]
        return {name: self._files.read(name) for name in names}

    def write(self, file: str, document: bytes) -> None:
        """Keep a document."""
        self._files.write(file, document)

    def remove(self, file: str) -> None:
        """Forget a document."""
        self._files.remove(file)


def encoded(name: str) -> str:
    """A connector's name as the name of a file: no path, whatever the name is."""
    safe = quote(name, safe="").replace("~", "%7E")
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if len(safe) > _LONGEST:
        safe = f"{safe[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return safe


def open_store(spark: SparkSession, address: str) -> DefinitionStore:
    """The store at a path, or at a URL such as s3://bucket/folder, made if it is missing."""
    if "://" in address:
        scheme, _, rest = address.partition("://")
        if scheme in ("s3", "s3a"):
            ensure_bucket(spark, rest.partition("/")[0])
        return RemoteStore(spark, f"{address.replace('s3://', 's3a://')}/connectors")
    return LocalStore(Path(address) / "connectors")
