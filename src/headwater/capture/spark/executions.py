"""The SQL executions that are under way in a driver, asked for now and then.

Spark tells of an action when it is over. A listener that heard of beginnings would be called for
every task as well, which costs a job far more than one question every half second.
"""

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture.spark.jvm import Java, call, class_name, option, private_field

# The class of the execution that writes a micro-batch.
MICRO_BATCH = "IncrementalExecution"


class Executions:
    """Spark's own table of running executions."""

    def __init__(self, session: Java, jvm: Java) -> None:
        self._session = session
        self._sql = jvm.org.apache.spark.sql.execution.SQLExecution
        self._table = _table(jvm)

    def running(self) -> frozenset[int]:
        """The numbers of the executions that are under way."""
        keys = call(self._table, "keySet", "toString")
        found = str(keys or "").strip("[]").split(",")
        return frozenset(int(key) for key in found if key.strip())

    def get(self, number: int) -> Java | None:
        """An execution that is still under way, if it is a batch action's."""
        try:
            execution = self._sql.getQueryExecution(number)
        except (Py4JError, PySparkException):
            return None
        if execution is None or class_name(execution) == MICRO_BATCH:
            return None
        return execution

    def began_at(self, number: int) -> float | None:
        """When an execution began, in seconds since 1970, as Spark's own page shows it."""
        store = call(self._session, "sharedState", "statusStore")
        try:
            shown = option(store.execution(number)) if store is not None else None
            return int(shown.submissionTime()) / 1_000 if shown is not None else None
        except (Py4JError, PySparkException):
            return None


def planned_at(execution: Java) -> int | None:
    """When an execution's plan was made to run, in milliseconds since 1970."""
    planning = option(execution.tracker().phases().get("planning"))
    return None if planning is None else int(planning.startTimeMs())


def _table(jvm: Java) -> Java | None:
    """The map behind `SQLExecution.getQueryExecution`, which is Spark's own secret."""
    try:
        kind = jvm.java.lang.Class.forName("org.apache.spark.sql.execution.SQLExecution$")
        return private_field(kind.getField("MODULE$").get(None), "executionIdToQueryExecution")
    except (Py4JError, PySparkException):
        return None
