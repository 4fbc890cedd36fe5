"""What an application gets in place of Spark's writers and queries: they keep plans."""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from pyspark.sql import DataFrame


class Match(Enum):
    """How Spark matches the columns of a frame with those of a table that it writes."""

    NAME = auto()
    POSITION = auto()
    STATEMENT = auto()  # as the statement says
    NONE = auto()  # not at all: the table does, by name


class Planned(NamedTuple):
    """Something that an application would write: a table or path, and the frame."""

    target: str  # empty where nothing says
    frame: DataFrame
    query: str | None = None  # the name of a streaming query
    doubts: tuple[str, ...] = ()  # why the frame may hold what its plan does not tell
    constants: frozenset[int] = frozenset()  # ids of RDDs of rows that the application itself holds
    match: Match = Match.NONE
    relation: Any = None  # the table, once the frame holds the rows that the table gets


class Plans(list[Planned]):
    """What would be written, and the writes of which no plan is known."""

    missed: Sequence[str] = ()


Add = Callable[[Planned], None]


def held_rdds(frame: DataFrame) -> list[int]:
    """The ids of the RDDs that hold the rows of a frame which was made of local values."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    found = (leaves.apply(number) for number in range(leaves.size()))
    return [int(leaf.rdd().id()) for leaf in found if leaf.nodeName().endswith("RDD")]


class BatchWriter:
    """In place of `DataFrame.write`."""

    def __init__(self, frame: DataFrame, add: Add) -> None:
        self._frame, self._add = frame, add
        self._options: dict[str, Any] = {}

    def option(self, key: str, value: Any) -> "BatchWriter":
        """Keep an option."""
        self._options[key.lower()] = value
        return self

    def options(self, **options: Any) -> "BatchWriter":
        """Keep options."""
        for key, value in options.items():
            self.option(key, value)
        return self

    def save(self, path: str | None = None, *_arguments: Any, **options: Any) -> None:
        """Keep a write to a path, a topic, or a table that is named like a path."""
        told = {**self._options, **{key.lower(): value for key, value in options.items()}}
        target = path or told.get("path") or told.get("topic") or told.get("dbtable") or ""
        self._write(target, Match.NAME)

    def saveAsTable(self, name: str, *_arguments: Any, **_options: Any) -> None:  # noqa: N802
        """Keep a write to a table."""
        self._write(name, Match.NAME)

    def insertInto(self, name: str, *_arguments: Any, **_options: Any) -> None:  # noqa: N802
        """Keep a write to a table, whose columns are taken in order."""
        self._write(name, Match.POSITION)

    def jdbc(self, _url: str, table: str, *_arguments: Any, **_options: Any) -> None:
        """Keep a write to a database."""
        self._write(table)

    def _path(self, path: str, *_arguments: Any, **_options: Any) -> None:
        self._write(path)

    json = parquet = csv = orc = text = xml = _path

    def __getattr__(self, _name: str) -> Callable[..., "BatchWriter"]:
        """Take `mode`, `format`, `partitionBy` and the like, which do not change the plan."""
        return lambda *_arguments, **_options: self

    def _write(self, target: str, match: Match = Match.NONE) -> None:
        self._add(Planned(str(target), self._frame, match=match))


class TableWriter:
    """In place of `DataFrame.writeTo`."""

    def __init__(self, frame: DataFrame, table: str, add: Add) -> None:
        self._frame, self._table, self._add = frame, table, add

    def append(self, *_condition: Any) -> None:
        """Keep a write."""
        self._add(Planned(self._table, self._frame, match=Match.NAME))

    create = replace = createOrReplace = overwrite = overwritePartitions = append  # noqa: N815

    def __getattr__(self, _name: str) -> Callable[..., "TableWriter"]:
        """Take `using`, `option`, `tableProperty` and the like."""
        return lambda *_arguments, **_options: self


class MergeWriter:
    """In place of `DataFrame.mergeInto`, whose rows are not those of its frame."""

    def __init__(self, frame: DataFrame, table: str, miss: Callable[[str], None]) -> None:
        self._frame, self._table, self._miss = frame, table, miss

    def merge(self) -> None:
        """Note that there is a write."""
        self._miss(f"mergeInto({self._table!r})")

    def __getattr__(self, _name: str) -> Callable[..., "MergeWriter"]:
        """Take `whenMatched`, `insertAll` and the like."""
        return lambda *_arguments, **_options: self


class StreamWriter(BatchWriter):
    """In place of `DataFrame.writeStream`."""

    def __init__(self, frame: DataFrame, add: Add) -> None:
        super().__init__(frame, add)
        self._name: str | None = None
        self._function: Callable[[DataFrame, int], Any] | None = None

    def queryName(self, name: str) -> "StreamWriter":  # noqa: N802
        """Keep the name of the query."""
        self._name = name
        return self

    def foreachBatch(self, function: Callable[[DataFrame, int], Any]) -> "StreamWriter":  # noqa: N802
        """Keep a function that writes."""
        self._function = function
        return self

    def start(self, path: str | None = None, *_arguments: Any, **options: Any) -> "Query":
        """Let a function write, or keep the write."""
        if "queryName" in options:
            self._name = options["queryName"]
        if self._function is not None:
            self._function(self._frame, 0)
        else:
            self.save(path, **options)
        return Query(self._name)

    def toTable(self, name: str, *_arguments: Any, **options: Any) -> "Query":  # noqa: N802
        """Keep a write to a table."""
        self._name = options.get("queryName", self._name)
        self._write(name)
        return Query(self._name)

    def _write(self, target: str, _match: Match = Match.NONE) -> None:
        self._add(Planned(str(target), self._frame, self._name))


class Query:
    """A streaming query that has read all and ended."""

    isActive = False  # noqa: N815
    lastProgress = None  # noqa: N815
    recentProgress: tuple[()] = ()  # noqa: N815
    id = runId = "00000000-0000-0000-0000-000000000000"  # noqa: N815

    def __init__(self, name: str | None) -> None:
        self.name = name

    def awaitTermination(self, *_timeout: Any) -> bool:  # noqa: N802
        """End at once."""
        return True

    def exception(self) -> None:
        """Tell of no error."""

    def stop(self) -> None:
        """Do nothing."""

    processAllAvailable = stop  # noqa: N815
