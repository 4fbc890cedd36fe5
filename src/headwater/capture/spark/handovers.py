"""Remembers the rows that leave Spark's plans and come back.

A checkpoint, an RDD or a pandas frame cuts a plan in two: what is made from it begins with rows
from nowhere. What is behind the rows is found out soon after the cut, and once: then the plan
before the cut is let go, with the data that it holds. It is found again by what stays the same
however often the rows are read: the id of an RDD, the rows themselves, a tag on a pandas frame.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.spark.described import Described
from headwater.capture.spark.jvm import Java, call, class_name, seq
from headwater.capture.spark.leaves import ids_of

V = TypeVar("V")

_MOST_KEPT = 500  # cuts that are remembered, those forgotten first that are not used any more
_MOST_COLLECTED = 50  # frames that one of unknown origin may be made from
_MOST_RDDS = 5_000  # ancestors of an RDD that are looked at
_MOST_FILES = 20_000  # of a scan whose folders are looked for
_INPUT = "mapreduce.input.fileinputformat.inputdir"
_READS_FILES = frozenset({"NewHadoopRDD", "BinaryFileRDD", "WholeTextFileRDD"})
_MADE_UP = frozenset({"ParallelCollectionRDD", "EmptyRDD"})
_OF_PLANS = frozenset({"SQLExecutionRDD"})
_FRAMES = frozenset({"pandas", "pyarrow"})
_TAG = "headwater.plans"  # in the `attrs` of a pandas frame, which its copies keep


class Rows:
    """Rows that left a plan of a session."""

    def __init__(self, execution: Java) -> None:
        self.execution = execution
        self.plan, self.session = execution.analyzed(), execution.sparkSession()
        self.described: Described | None = None

    @classmethod
    def of(cls, frame: Any) -> "Rows":
        """The rows of a frame."""
        return cls(frame._jdf.queryExecution())


class Roots(NamedTuple):
    """What an RDD is made from: rows of plans, places of files, and kinds of RDDs."""

    rows: list[Described]
    places: list[str]
    unknown: list[str]


class Collected(NamedTuple):
    """Rows that a pandas or Arrow frame is made from, or may be made from."""

    rows: tuple[Rows, ...]
    is_certain: bool

    def described(self) -> list[Described]:
        """What is known of them; only a tag tells that rows are those of a micro-batch."""
        found = [rows.described for rows in self.rows if rows.described is not None]
        return [one for one in found if self.is_certain or not one.runs]


class Tag(str):
    """What marks a pandas frame; in a file that the frame is saved in, it is an empty text."""

    __slots__ = ("rows",)
    rows: Rows

    @classmethod
    def of(cls, rows: Rows) -> "Tag":
        """The mark of a frame with these rows."""
        tag = cls()
        tag.rows = rows
        return tag

    def __eq__(self, other: object) -> bool:
        """Only the same mark is equal: pandas compares those of frames that it puts together."""
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, _: object) -> "Tag":
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, ("",)


class _Latest(Generic[V]):
    """The entries that were made or used last."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, V] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > _MOST_KEPT:
                self._entries.popitem(last=False)

    def get(self, key: str) -> V | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)


class Handovers:
    """The cuts of one application."""

    def __init__(self, jvm: Java, *, sees_rdds: bool = True) -> None:
        self._jvm, self._barrier = jvm, FaultBarrier()
        # Where frames become RDDs unseen, the files below are not all that they may be made from.
        self._unknown = frozenset() if sees_rdds else _OF_PLANS
        self._same: _Latest[Rows] = _Latest()
        self._through_python: _Latest[Collected] = _Latest()
        self._collected: deque[Rows] = deque(maxlen=_MOST_COLLECTED)
        self._rdds: _Latest[Rows] = _Latest()
        self._pending: deque[Rows] = deque()
        self._resolving = threading.RLock()

    def checkpointed(self, frame: Any, result: Any) -> None:
        """A frame was checkpointed, and goes on as another one."""
        rdd = result._jdf.queryExecution().analyzed().rdd()
        self._same.put(_rdd_key(rdd), self._add(Rows.of(frame)))

    def seen(self, execution: Java, rdd_id: int) -> None:
        """A checkpoint was seen in the JVM: its rows go on in an RDD."""
        rows = Rows(execution)
        self._same.put(_key_of_rdd(rdd_id), self._add(rows))

    def as_rdd(self, frame: Any, rdd: Any) -> None:
        """A frame's rows are asked for as an RDD."""
        self._rdds.put(_rdd_key(rdd), self._add(Rows.of(frame)))

    def as_pandas(self, frame: Any, result: Any) -> None:
        """A frame's rows are asked for as a pandas frame, which is tagged."""
        rows = self._add(Rows.of(frame))
        self._collected.append(rows)
        result.attrs[_TAG] = Tag.of(rows)

    def as_arrow(self, frame: Any) -> None:
        """A frame's rows are asked for as an Arrow table, which cannot be tagged."""
        self._collected.append(self._add(Rows.of(frame)))

    def from_pandas(self, data: Any, frame: Any) -> None:
        """A frame is made from one of pandas or Arrow, perhaps from rows that were collected."""
        collected = self._behind(data)
        if collected is not None:
            for leaf in seq(frame._jdf.queryExecution().analyzed().collectLeaves()):
                self._through_python.put(self.key(leaf), collected)

    def _behind(self, data: Any) -> Collected | None:
        """A tag tells; pandas forgets it where it puts frames together, then it may be any."""
        if type(data).__module__.partition(".")[0] not in _FRAMES:
            return None
        attributes = getattr(data, "attrs", None) or {}
        tag = attributes.get(_TAG)
        if isinstance(tag, Tag):
            return Collected((tag.rows,), is_certain=True)
        is_from_file = _TAG in attributes
        if is_from_file or not self._collected:
            return None
        return Collected(tuple(self._collected), is_certain=False)

    def resolve(self, read: Callable[[Rows], Described]) -> None:
        """Read the plans before the latest cuts, in order: later ones begin with earlier ones."""
        with self._resolving:
            while self._pending:
                self._barrier.run("a cut plan", partial(_resolve, self._pending.popleft(), read))

    def key(self, leaf: Java) -> str:
        """What stays the same of a leaf that holds rows, whatever its columns are called."""
        if class_name(leaf) != "LocalRelation":
            rdd = call(leaf, "rdd")
            return _rdd_key(rdd) if rdd is not None else ""
        if leaf.data().isEmpty():  # all that are empty may share one list
            return f"ids {ids_of(leaf)}"
        return f"rows {self._jvm.java.lang.System.identityHashCode(leaf.data())}"

    def unchanged(self, key: str) -> Described | None:
        """What is behind a leaf whose rows are those of a plan."""
        return _described(self._same.get(key))

    def through_python(self, key: str) -> Collected | None:
        """What is behind a leaf whose rows were a frame of pandas or Arrow."""
        return self._through_python.get(key)

    def roots(self, rdd: Java) -> Roots:
        """What an RDD is made from."""
        roots = Roots([], [], [])
        for one in self._ancestors(rdd, roots):
            places = _places_of(one)
            roots.places.extend(places)
            kind, is_first = class_name(one), not seq(one.dependencies())
            if kind in self._unknown or (is_first and not places and kind not in _MADE_UP):
                roots.unknown.append(kind)
        return roots

    def _ancestors(self, rdd: Java, roots: Roots) -> Iterator[Java]:
        """An RDD and those before it, up to those that hold rows of a plan."""
        pending, seen = [rdd], set[str]()
        while pending and len(seen) < _MOST_RDDS:
            one = pending.pop()
            key = _rdd_key(one)
            if key in seen:
                continue
            seen.add(key)
            described = _described(self._rdds.get(key) or self._same.get(key))
            if described is not None:
                roots.rows.append(described)
                continue
            yield one
            pending += [dependency.rdd() for dependency in seq(one.dependencies())]

    def _add(self, rows: Rows) -> Rows:
        self._pending.append(rows)
        return rows


def _resolve(rows: Rows, read: Callable[[Rows], Described]) -> None:
    try:
        rows.described = read(rows)
    finally:
        rows.plan = rows.session = None


def _described(rows: Rows | None) -> Described | None:
    return rows.described if rows is not None else None


def _rdd_key(rdd: Any) -> str:
    return _key_of_rdd(int(rdd.id()))


def _key_of_rdd(rdd_id: int) -> str:
    return f"rdd {rdd_id}"


def _places_of(rdd: Java) -> list[str]:
    """The places of the files that an RDD reads."""
    if class_name(rdd) == "FileScanRDD":
        return _folders(rdd)
    conf = _hadoop_conf(rdd)
    return _places(str(conf.get(_INPUT) or "")) if conf is not None else []


def _hadoop_conf(rdd: Java) -> Java | None:
    kind = class_name(rdd)
    if kind == "HadoopRDD":
        return call(rdd, "getJobConf")
    return call(rdd, "getConf") if kind in _READS_FILES else None


def _folders(scan: Java) -> list[str]:
    """The folders of the files that a plan scans whose rows are used as an RDD."""
    files = (file for part in seq(scan.filePartitions()) for file in part.files())
    found = {str(file.toPath().getParent().toString()) for file in islice(files, _MOST_FILES)}
    return sorted(found)


def _places(paths: str) -> list[str]:
    """Hadoop's list of paths: a comma in a path has a backslash before it."""
    parts = paths.replace("\\,", "\0").split(",")
    return [part.replace("\0", ",") for part in parts if part]
