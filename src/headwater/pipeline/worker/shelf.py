"""Where a worker keeps what must survive it: a folder, or a place in an object store."""

import os
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from headwater.pipeline.files import Files
from headwater.pipeline.sinks.s3 import ensure_bucket


class Shelf(Protocol):
    """Named documents, each written whole or not at all."""

    def read(self) -> dict[str, bytes]:
        """Every document."""

    def write(self, name: str, document: bytes) -> None:
        """Keep a document."""

    def remove(self, name: str) -> None:
        """Forget a document."""


class Folder:
    """Documents in a local folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(parents=True, exist_ok=True)

    def read(self) -> dict[str, bytes]:
        """Every document."""
        return {file.stem: file.read_bytes() for file in self._path.glob("*.json")}

    def write(self, name: str, document: bytes) -> None:
        """Keep a document; one that is half written never takes the old one's place."""
        part = self._path / f"{name}.part"
        with part.open("wb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._path / f"{name}.json")

    def remove(self, name: str) -> None:
        """Forget a document."""
        (self._path / f"{name}.json").unlink(missing_ok=True)


class Remote:
    """Documents in an object store."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self._files = Files(spark, address)

    def read(self) -> dict[str, bytes]:
        """Every document."""
        names = [name for name in self._files.names() if name.endswith(".json")]
        return {name.removesuffix(".json"): self._files.read(name) for name in names}

    def write(self, name: str, document: bytes) -> None:
        """Keep a document."""
        self._files.write(f"{name}.json", document)

    def remove(self, name: str) -> None:
        """Forget a document."""
        self._files.remove(f"{name}.json")


def shelf(spark: SparkSession, address: str) -> Shelf:
    """The shelf at an address: a path, or a URL such as s3://bucket/folder, made if missing."""
    if "://" in address:
        scheme, _, rest = address.partition("://")
        if scheme in ("s3", "s3a"):
            ensure_bucket(spark, rest.partition("/")[0])
        return Remote(spark, f"{address.replace('s3://', 's3a://')}/connectors")
    return Folder(Path(address) / "connectors")
