"""Remembers the plans behind rows that leave Spark's plans and come back.

A checkpoint, an RDD or a pandas frame cuts a plan in two: what is made from it begins with rows
from nowhere. The plan before the cut is kept here, and found again by what the rows are known
by afterwards: the ids of their columns, or the id of an RDD.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from headwater.capture.plan.reader import Ids
from headwater.capture.spark.jvm import Java, call, class_name, seq
from headwater.capture.spark.leaves import ids_of

K = TypeVar("K")
V = TypeVar("V")

_MOST_KEPT = 500  # cuts that are remembered, the oldest forgotten first
_MOST_RDDS = 5_000  # ancestors of an RDD that are looked at
_MOST_FILES = 20_000  # of a scan whose folders are looked for
_INPUT = "mapreduce.input.fileinputformat.inputdir"
_TAG = "headwater.plans"  # in the `attrs` of a pandas frame, which its copies keep


class _Latest(Generic[K, V]):
    """The entries that were made last."""

    def __init__(self) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > _MOST_KEPT:
                self._entries.popitem(last=False)

    def get(self, key: K) -> V | None:
        with self._lock:
            return self._entries.get(key)


class Handovers:
    """The cuts of one application."""

    def __init__(self) -> None:
        self._same: _Latest[Ids, Java] = _Latest()
        self._through_python: _Latest[Ids, list[Java]] = _Latest()
        self._rdds: _Latest[int, Java] = _Latest()
        self._frames: _Latest[str, Java] = _Latest()

    def checkpointed(self, frame: Any) -> None:
        """A frame is about to be checkpointed: its columns keep their ids."""
        plan = frame._jdf.queryExecution().analyzed()
        self._same.put(ids_of(plan), plan)

    def as_rdd(self, frame: Any, rdd: Any) -> None:
        """A frame's rows are asked for as an RDD."""
        self._rdds.put(int(rdd.id()), frame._jdf.queryExecution().analyzed())

    def as_pandas(self, frame: Any, result: Any) -> None:
        """A frame's rows are asked for as a pandas frame, which is tagged."""
        plan = frame._jdf.queryExecution().analyzed()
        key = "-".join(map(str, ids_of(plan)))
        self._frames.put(key, plan)
        result.attrs[_TAG] = key

    def from_pandas(self, data: Any, frame: Any) -> None:
        """A frame is made from a pandas frame, perhaps one that was a frame before."""
        plan = self._frames.get(str(getattr(data, "attrs", {}).get(_TAG)))
        if plan is not None:
            for leaf in seq(frame._jdf.queryExecution().analyzed().collectLeaves()):
                self._through_python.put(ids_of(leaf), [plan])

    def unchanged(self, leaf: Java) -> Java | None:
        """The plan whose very columns a leaf has."""
        return self._same.get(ids_of(leaf))

    def through_python(self, leaf: Java) -> list[Java]:
        """The plans whose rows passed through Python before they came to a leaf."""
        known = self._through_python.get(ids_of(leaf))
        if known is not None:
            return known
        rdd = call(leaf, "rdd")
        return [plan for plan, _ in self.ancestors(rdd) if plan is not None] if rdd else []

    def ancestors(self, rdd: Java) -> Iterator[tuple[Java | None, list[str]]]:
        """What an RDD is made from: plans, and places of files."""
        pending, seen = [rdd], set[int]()
        while pending and len(seen) < _MOST_RDDS:
            one = pending.pop()
            identity = int(one.id())
            if identity in seen:
                continue
            seen.add(identity)
            plan = self._rdds.get(identity)
            if plan is not None:
                yield plan, []
                continue
            conf = _hadoop_conf(one)
            if conf is not None:
                yield None, _places(str(conf.get(_INPUT) or ""))
            elif class_name(one) == "FileScanRDD":
                yield None, _folders(one)
            pending += [dependency.rdd() for dependency in seq(one.dependencies())]


def _hadoop_conf(rdd: Java) -> Java | None:
    kind = class_name(rdd)
    if kind == "HadoopRDD":
        return call(rdd, "getJobConf")
    return call(rdd, "getConf") if kind in ("NewHadoopRDD", "BinaryFileRDD") else None


def _folders(scan: Java) -> list[str]:
    """The folders of the files that a plan scans whose rows are used as an RDD."""
    files = (file for part in seq(scan.filePartitions()) for file in part.files())
    found = {str(file.toPath().getParent().toString()) for file in islice(files, _MOST_FILES)}
    return sorted(found)


def _places(paths: str) -> list[str]:
    """Hadoop's list of paths: a comma in a path has a backslash before it."""
    parts = paths.replace("\\,", "\0").split(",")
    return [part.replace("\0", ",") for part in parts if part]
