"""Small files wherever Spark can write: a local folder or an object store."""

from typing import Any

from pyspark.sql import SparkSession


class Files:
    """The files of one folder, through the file systems that Spark has."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._root = self._path(folder)
        self._system = self._root.getFileSystem(spark._jsc.hadoopConfiguration())

    def names(self) -> list[str]:
        """The files' names; none when the folder is not there."""
        if not self._system.exists(self._root):
            return []
        return [str(one.getPath().getName()) for one in self._system.listStatus(self._root)]

    def read(self, name: str) -> bytes:
        """A file's content."""
        path = self._path(self._root, name)
        stream = self._system.open(path)
        try:
            return bytes(stream.readNBytes(self._system.getFileStatus(path).getLen()))
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        """Write a file; in an object store it appears when it is complete."""
        stream = self._system.create(self._path(self._root, name), True)
        stream.write(bytearray(content))
        stream.close()

    def remove_all(self) -> None:
        """Remove the folder with everything in it."""
        self._system.delete(self._root, True)

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._system.delete(self._path(self._root, name), False)
