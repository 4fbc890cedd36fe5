"""Calls of an application into the JVM, past PySpark's own classes.

Every call goes through py4j's `JavaMember`. Those that write are held back there, whichever way an
application came by the object: `frame._jdf`, `spark._jsparkSession`, `sparkContext._jsc`, `_jvm`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import local
from typing import Any, NamedTuple

from py4j.java_gateway import JavaClass, JavaMember, JavaObject
from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun.jobs import JobCount

_STATIC = "z:"  # what py4j puts before the name of a class
_DATASET = re.compile(r"org\.apache\.spark\.sql\.(classic\.)?Dataset")
_SESSION = re.compile(r"org\.apache\.spark\.sql\.(classic\.)?(SparkSession|SQLContext)")
_WRITERS = frozenset({"write", "writeTo", "writeStream", "mergeInto"})
# What brings rows, or what they tell, to the application even where Spark needs no job for it.
_ACTIONS = re.compile(
    r"collect\w*|count|isEmpty|reduce|first|head|take\w*|tail\w*|runJob|"
    r"toLocalIterator\w*|toPythonIterator|execute(?!d)\w*"
)
_ROWS = re.compile(
    r"org\.apache\.spark\.(rdd|api\.java|api\.python|api\.r|sql\.execution(\.\w+)*)\.\w+"
)
# A schema that Spark infers from files is as if the application had read the files itself.
_READER = re.compile(r"org\.apache\.spark\.sql\.(classic\.)?DataFrameReader")
_INFERS = "load|json|csv|parquet|orc|text|xml"
_FILES = (
    "write|delete|create|mkdir|rename|copy|move|append|truncate|concat|setPermission|setTimes|"
    "setOwner"
)
_WRITES = (
    "save|insert|jdbc|parquet|json|csv|orc|text|xml|start|toTable|append|create|replace|overwrite|"
    "merge"
)
# What changes something outside the session: the class, and the beginning of the method's name.
_EFFECTS = tuple(
    (re.compile(owner), re.compile(names))
    for owner, names in (
        (r"org\.apache\.spark\.(rdd|api\.java|api\.python)\.", "saveAs|foreach"),
        (r"org\.apache\.spark\.sql\.(classic\.)?Dataset", "foreach"),
        (
            r"org\.apache\.spark\.sql\..*Writer(V2|Impl)?$",
            _WRITES,
        ),
        (
            r"org\.apache\.spark\.sql\..*[Cc]atalog",
            r"(create|drop|alter|rename|purge|replace|truncate|recover|stage)(?!\w*Temp)",
        ),
        (
            r"org\.apache\.iceberg\.",
            "commit|execute|create|drop|alter|rename|delete|register|purge",
        ),
        (r"org\.apache\.hadoop\.fs\.|[\w.]+FileSystem$", _FILES),
        (r"java\.(io|nio\.file)\.", _FILES),
    )
)
_NAMES = re.compile(
    "|".join(
        [_ACTIONS.pattern, "sql", _INFERS, *_WRITERS, *(names.pattern for _, names in _EFFECTS)]
    )
)
# Packages whose classes write only by methods that are held back.
_KNOWN = ("java.", "javax.", "scala.", "org.apache.spark.", "org.apache.hadoop.",
          "org.apache.iceberg.", "org.apache.logging.", "org.slf4j.", "py4j.")  # fmt: skip
LOOKED = "the application looked at rows before it wrote, and may have used them"
_FOREIGN = "the application called {}, which may have read and written anything"


class Seams(NamedTuple):
    """What stands in for calls of an application."""

    writer: Callable[[str, DataFrame, tuple[Any, ...]], Any]  # of a method's name and its arguments
    sql: Callable[[SparkSession, str, Any], DataFrame]
    doubt: Callable[[str], None]
    check: Callable[[], bool]


class JvmCalls:
    """Sees all calls into the JVM; those of PySpark on our own behalf are let through."""

    def __init__(self, spark: SparkSession, seams: Seams) -> None:
        self._spark, self._seams = spark, seams
        self._call, self._own = JavaMember.__call__, local()
        self._jobs = JobCount(spark)

    def calling(self) -> Callable[..., Any]:
        """In place of `JavaMember.__call__`."""

        def call(member: Any, *given: Any) -> Any:
            if getattr(self._own, "depth", 0):
                return self._call(member, *given)
            self._seams.check()
            target, name = str(member.target_id), str(member.name)
            if target.startswith(_STATIC):
                self._note_foreign(target.removeprefix(_STATIC))
            if not _NAMES.match(name):
                return self._call(member, *given)
            with self.let_through():
                return self._seen(member, _owner(member), name, given)

        return call

    def constructing(self) -> Callable[..., Any]:
        """In place of `JavaClass.__call__`."""
        original = JavaClass.__call__

        def construct(owner: Any, *given: Any) -> Any:
            if not getattr(self._own, "depth", 0):
                self._note_foreign(str(owner._fqn))
            return original(owner, *given)

        return construct

    def has_looked(self) -> bool:
        """Whether the application had Spark run a job."""
        with self.let_through():
            return self._jobs.has_grown()

    @contextmanager
    def on_our_behalf(self) -> Iterator[None]:
        """Let calls of this thread through for a while, and count no jobs."""
        with self.let_through(), self._jobs.paused():
            yield

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Let calls of this thread through for a while."""
        self._own.depth = getattr(self._own, "depth", 0) + 1
        try:
            yield
        finally:
            self._own.depth -= 1

    def _seen(self, member: Any, owner: str, name: str, given: tuple[Any, ...]) -> Any:
        if name in _WRITERS and _DATASET.fullmatch(owner):
            frame = DataFrame(member.container, self._spark)
            return self._seams.writer(name, frame, given)
        if name == "sql" and _SESSION.fullmatch(owner):
            session = member.container
            if owner.endswith("SQLContext"):
                session = session.sparkSession()
            return self._seams.sql(self._session(session), *_statement(given))._jdf
        if any(of.match(owner) and names.match(name) for of, names in _EFFECTS):
            return None
        if _ACTIONS.fullmatch(name) and (_DATASET.fullmatch(owner) or _ROWS.fullmatch(owner)):
            self._seams.doubt(LOOKED)
        is_of_files = _READER.fullmatch(owner) and not any(map(_is_rows, given))
        with self._jobs.paused() if is_of_files else nullcontext():
            return self._call(member, *given)

    def _session(self, session: Any) -> SparkSession:
        is_own = session.equals(self._spark._jsparkSession)
        return self._spark if is_own else SparkSession(self._spark.sparkContext, session)

    def _note_foreign(self, name: str) -> None:
        if not name.startswith(_KNOWN):
            self._seams.doubt(_FOREIGN.format(name))


def _owner(member: Any) -> str:
    """The class that a method is called of."""
    target = str(member.target_id)
    if target.startswith(_STATIC):
        return target.removeprefix(_STATIC).rstrip("$")
    return str(member.container.getClass().getName()).rstrip("$")


def _is_rows(given: Any) -> bool:
    """Whether an argument holds rows, and is no name or path."""
    if not isinstance(given, JavaObject):
        return False
    kind = str(given.getClass().getName())
    return bool(_DATASET.fullmatch(kind) or _ROWS.fullmatch(kind))


def _statement(given: tuple[Any, ...]) -> tuple[str, Any]:
    return str(given[0]), given[1] if len(given) > 1 else None
