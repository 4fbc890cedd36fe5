"""What Spark makes of a frame's columns when it writes them into a table.

When Spark analyzes a write, it matches the columns with those of the table, casts them, and fills
those that are not given. The same analysis is asked for here while the application runs: casts then
have the time zone and the ANSI mode of its session, and belong to the plan.
"""

from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun.writers import Match, Planned

_WRITE = "org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand"
_RELATION = "DataSourceV2Relation"
_ERRORS = (PySparkException, Py4JError)


def converted(planned: Planned) -> Planned:
    """A write of a frame, with the rows that the table gets; as it is if that is not known."""
    if planned.relation is not None or planned.match not in (Match.NAME, Match.POSITION):
        return planned
    session = planned.frame.sparkSession
    relation = _relation_of(session, planned.target)
    if relation is None:
        return planned
    jvm: Any = session._jvm
    append = jvm.org.apache.spark.sql.catalyst.plans.logical.AppendData
    write = append.byName if planned.match is Match.NAME else append.byPosition
    plan = planned.frame._jdf.queryExecution().analyzed()
    try:
        found = _analyzed(session, write(relation, plan, jvm.PythonUtils.toScalaMap({})))
        return planned._replace(relation=relation, frame=frame_of(session, found.query()))
    except _ERRORS:  # such as columns that the table does not have any more
        return planned


def converted_statement(session: SparkSession, target: str, write: Any) -> Planned | None:
    """What a statement writes, with the rows that the table gets; None if that is not known."""
    try:
        found = _analyzed(session, write)
    except _ERRORS:  # such as a table that is not there
        return None
    kind = session._jvm.java.lang.Class.forName(_WRITE)  # type: ignore[union-attr]
    if not kind.isInstance(found):  # into files
        return None
    frame = frame_of(session, found.query())
    return Planned(target, frame, match=Match.STATEMENT, relation=found.table())


def _relation_of(session: SparkSession, target: str) -> Any:
    """The table that is written, as plans have it; None unless there is one that can be traced."""
    is_path = "/" in target
    try:
        frame = session.read.format("iceberg").load(target) if is_path else session.table(target)
    except _ERRORS:
        return None
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    is_one = leaves.size() == 1 and str(leaves.apply(0).getClass().getSimpleName()) == _RELATION
    return leaves.apply(0) if is_one else None


def _analyzed(session: SparkSession, command: Any) -> Any:
    """The plan of a write, which is not executed."""
    modes = session._jvm.org.apache.spark.sql.execution.CommandExecutionMode  # type: ignore[union-attr]
    state: Any = session._jsparkSession.sessionState()
    return state.executePlan(command, modes.SKIP()).analyzed()


def frame_of(session: SparkSession, plan: Any) -> DataFrame:
    """A plan as a frame."""
    datasets = session._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return DataFrame(datasets.ofRows(session._jsparkSession, plan), session)
