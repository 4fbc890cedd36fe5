"""What Spark's physical plan calls a write, also one that failed before it was planned or begun."""

from headwater.capture.spark.jvm import Java, call, class_name, option

# Commands that run another command for the writing itself, which is reported instead.
WRAPPERS = frozenset(
    {
        "SaveAsV1TableCommand",
        "CreateDataSourceTableAsSelectCommand",
        "CreateHiveTableAsSelectCommand",
        "OptimizedCreateHiveTableAsSelectCommand",
        "CreateTableAsSelect",
        "ReplaceTableAsSelect",
    }
)
# Writes through catalog plugins, whose physical nodes have the names of the logical ones.
_BY_PLUGINS = frozenset(
    {
        "AppendData",
        "OverwriteByExpression",
        "OverwritePartitionsDynamic",
        "ReplaceData",
        "WriteDelta",
        "DeleteFromTable",
    }
)
_FILE_FORMATS = frozenset({"parquet", "orc", "csv", "json", "text", "avro", "xml"})
_OVERWRITES_SINCE = (4, 1)  # before, Spark replaces a table by an append to the new one


def node_name(execution: Java, plan: Java, *, failed: bool = False) -> str:
    """The name of a write's node: for a wrapper that `failed`, of the write that it did not begin.

    A job has the same name whether it fails or not.
    """
    inner = _written_by(plan, str(execution.sparkSession().version())) if failed else None
    if inner is not None:
        return inner
    if execution.analyzed().equals(plan):  # else it is one of several commands of an execution
        planned = call(execution, "sparkPlan", "nodeName")
        if planned is not None:
            return str(planned)
    kind = class_name(plan)
    return kind if kind in _BY_PLUGINS else f"Execute {kind}"


def makes_files(plan: Java) -> bool:
    """Whether a command makes a table of files, which it writes by their place."""
    if class_name(plan) not in WRAPPERS:
        return False
    table = call(plan, "table") or call(plan, "tableDesc")
    return str(option(call(table, "provider")) or "").lower() in _FILE_FORMATS


def is_if_absent(plan: Java) -> bool:
    """Whether a command writes nothing where there is something already."""
    if call(plan, "ignoreIfExists") is True:
        return True
    return str(call(plan, "mode") or "") == "Ignore"


def writes_by_another(plan: Java) -> bool:
    """Whether a command never writes but by another one, of which Spark tells as well."""
    return class_name(plan) in ("CreateTableAsSelect", "SaveAsV1TableCommand") or makes_files(plan)


def _written_by(plan: Java, version: str) -> str | None:
    """The node by which a wrapper writes."""
    kind = class_name(plan)
    if kind == "CreateTableAsSelect":
        return "AppendData"
    if kind == "ReplaceTableAsSelect":
        known = tuple(map(int, version.split(".")[:2]))
        return "OverwriteByExpression" if known >= _OVERWRITES_SINCE else "AppendData"
    return "Execute InsertIntoHadoopFsRelationCommand" if makes_files(plan) else None
