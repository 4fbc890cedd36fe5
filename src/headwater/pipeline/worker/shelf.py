"""Where a worker keeps what must survive it: a folder, or a place in an object store."""

import os
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession


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
    """Documents in an object store, through the file systems that Spark has."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._root = jvm.org.apache.hadoop.fs.Path(address)
        self._system = self._root.getFileSystem(spark._jsc.hadoopConfiguration())
        self._system.mkdirs(self._root)

    def read(self) -> dict[str, bytes]:
        """Every document."""
        found = {}
        for one in self._system.listStatus(self._root):
            name = one.getPath().getName()
            if name.endswith(".json"):
                found[name.removesuffix(".json")] = self._content(one)
        return found

    def write(self, name: str, document: bytes) -> None:
        """Keep a document; an object appears when it is complete."""
        stream = self._system.create(self._file(name), True)
        stream.write(bytearray(document))
        stream.close()

    def remove(self, name: str) -> None:
        """Forget a document."""
        self._system.delete(self._file(name), False)

    def _file(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, f"{name}.json")

    def _content(self, status: Any) -> bytes:
        stream = self._system.open(status.getPath())
        try:
            return bytes(stream.readNBytes(status.getLen()))
        finally:
            stream.close()


def shelf(spark: SparkSession, address: str) -> Shelf:
    """The shelf at an address: a path, or a URL such as s3a://bucket/folder."""
    if "://" in address:
        return Remote(spark, f"{address.replace('s3://', 's3a://')}/connectors")
    return Folder(Path(address) / "connectors")
