"""Logical plans of Spark, read and rewritten through py4j."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

Plan = Any  # a LogicalPlan of the JVM

# What they give depends on the order of rows, which is another when a plan is evaluated again.
_ORDERED = {
    "First": "first", "Last": "last", "AnyValue": "any_value", "CollectList": "collect_list",
    "ListAgg": "listagg", "RowNumber": "row_number", "NTile": "ntile", "Lead": "lead",
    "Lag": "lag", "NthValue": "nth_value", "GlobalLimit": "limit", "Tail": "tail",
    "Offset": "offset", "MonotonicallyIncreasingID": "monotonically_increasing_id",
    "CollectSet": "collect_set", "MaxBy": "max_by", "MinBy": "min_by", "Mode": "mode",
    "ApproximatePercentile": "percentile_approx", "ApproxTopK": "approx_top_k",
}  # fmt: skip
_RANDOM = frozenset({"Rand", "Randn", "RandStr", "Uuid", "Shuffle", "Sample", "SparkPartitionID"})
_CLOCKS = frozenset({"CurrentTimestamp", "CurrentDate", "Now", "LocalTimestamp", "CurrentTime"})
_SESSION = frozenset({"CurrentUser", "SessionUser", "CurrentDatabase", "CurrentCatalog"})
_FUNCTIONS = frozenset(
    {
        "PythonUDF",
        "PythonUDAF",
        "PythonUDTF",
        "ScalaUDF",
        "ScalaUDAF",
        "ScalaAggregator",
        "HiveSimpleUDF",
        "HiveGenericUDF",
        "ApplyFunctionExpression",
        "V2Aggregator",
    }
)
_FUNCTION = "a function of the application is taken to give the same result again"
_RANDOM_PLAN = "it is not deterministic"
_DELAY = "spark.watermarkDelayMs"
_TIMES = ('"timestamp"', '"variant"', ".CurrentTimeZone", ".CurrentDate")
_GROUPS = ("InPandas", "InArrow", "InPandasWithState", "WithState")


def analyzed(frame: DataFrame) -> Plan:
    """The plan of a frame, before Spark optimizes it."""
    return frame._jdf.queryExecution().analyzed()


def optimized(frame: DataFrame) -> Plan:
    """The plan of a frame as Spark evaluates it: predicates stand above what they narrow down."""
    return frame._jdf.queryExecution().optimizedPlan()


def kind(plan: Plan) -> str:
    """The name of a node's class."""
    return str(plan.getClass().getSimpleName()).rstrip("$")


def listed(values: Any) -> list[Any]:
    """A Scala sequence as a list."""
    # By number: the end of an iterator is an exception, which takes py4j long to convert.
    return [values.apply(number) for number in range(values.size())]


def sequence(spark: SparkSession, values: list[Any]) -> Any:
    """A list as a Scala sequence."""
    held = spark._jvm.java.util.ArrayList()  # type: ignore[union-attr]
    for one in values:
        held.add(one)
    converters = spark._jvm.scala.jdk.javaapi.CollectionConverters  # type: ignore[union-attr]
    return converters.asScala(held).toSeq()


def children(plan: Plan) -> list[Plan]:
    """The nodes right below a node."""
    return listed(plan.children())


def walk(plan: Plan) -> Iterator[Plan]:
    """A node and all below it."""
    yield plan
    for child in children(plan):
        yield from walk(child)


def uses(plan: Plan, column: Any) -> bool:
    """Whether a plan has an expression with a column of a leaf, or returns the column."""
    above = (node.references() for node in walk(plan) if children(node))
    return plan.outputSet().contains(column) or any(one.contains(column) for one in above)


def with_leaves(spark: SparkSession, plan: Plan, replaced: Callable[[Plan], Plan | None]) -> Plan:
    """A plan with other plans, of the same columns, in place of some of its leaves."""
    below = children(plan)
    if not below:
        other = replaced(plan)
        return plan if other is None else other
    new = [with_leaves(spark, child, replaced) for child in below]
    if kind(plan) == "DeduplicateWithinWatermark":  # which Spark evaluates in streams only
        logical = spark._jvm.org.apache.spark.sql.catalyst.plans.logical  # type: ignore[union-attr]
        return logical.Deduplicate(plan.keys(), new[0])
    return plan.withNewChildren(sequence(spark, new))


def inlined(spark: SparkSession, plan: Plan) -> Plan:
    """A plan without common table expressions, which copies of the plan would share."""
    if not any(kind(node) == "WithCTE" for node in walk(plan)):
        return plan
    rules = spark._jvm.org.apache.spark.sql.catalyst.optimizer  # type: ignore[union-attr]
    return rules.InlineCTE(True, False).apply(plan)


def has_subqueries(plan: Plan) -> bool:
    """Whether expressions of a plan hold plans, which `with_leaves` does not reach."""
    return not plan.subqueriesAll().isEmpty()


def doubts(plan: Plan) -> list[str]:
    """What makes a plan give other rows when it is evaluated again, in words."""
    found: dict[str, None] = {} if plan.deterministic() else {_RANDOM_PLAN: None}
    for name in _classes(json.loads(plan.toJSON())):
        if name in _ORDERED:
            found[f"{_ORDERED[name]} depends on the order of rows"] = None
        elif name in _RANDOM:
            found[_RANDOM_PLAN] = None
        elif name in _CLOCKS:
            found["it depends on the time at which it is evaluated"] = None
        elif name in _SESSION:
            found["it depends on the session in which it is evaluated"] = None
        elif name in _FUNCTIONS:
            found[_FUNCTION] = None
        elif name.endswith(_GROUPS):
            found["a Python function is given rows in groups"] = None
    return [*found]


def uses_times(plan: Plan) -> bool:
    """Whether a plan uses timestamps, so that it may depend on the time zone of the session.

    Spark folds literals and casts when it parses and analyzes a plan, in the session's zone: what
    is left tells too little to look for less.
    """
    return any(map(_uses_times, json.loads(plan.toJSON())))


def _uses_times(node: dict[str, Any]) -> bool:
    is_leaf = not node.get("num-children")
    name = str(node.get("class", "")).rpartition(".")[2]
    if name == "View" or (is_leaf and name != "LocalRelation"):  # an inline table may be folded
        return False
    text = json.dumps(node)
    return any(sign in text for sign in _TIMES) or _is_zoned(node)


def _is_zoned(value: Any) -> bool:
    """Whether there is an expression with a time zone, other than a cast: all casts have one."""
    if isinstance(value, list):
        return any(map(_is_zoned, value))
    if not isinstance(value, dict):
        return False
    is_cast = str(value.get("class", "")).endswith(".Cast")
    return ("timeZoneId" in value and not is_cast) or any(map(_is_zoned, value.values()))


def origins(plan: Plan) -> Callable[[Any], int]:
    """What gives the id of the expression that a column of the output only renames."""
    renamed = {
        one.exprId().id(): one.child().exprId().id()
        for node in walk(plan)
        if kind(node) == "Project"
        for one in listed(node.projectList())
        if kind(one) == "Alias" and kind(one.child()) == "AttributeReference"
    }

    def origin(column: Any) -> int:
        id_ = int(column.exprId().id())
        while id_ in renamed:
            id_ = renamed[id_]
        return id_

    return origin


def keeps_first_of_several(plan: Plan) -> bool:
    """Whether rows that are equal in some columns only are dropped, all but one."""
    return any(
        kind(node).startswith("Deduplicate")
        and node.keys().size() < children(node)[0].output().size()
        for node in walk(plan)
    )


class StateBound(NamedTuple):
    """How far back the records of a row with state may lie."""

    start: str | None  # the column with the start of the row's window; None: the row's own batch
    lateness_ms: int = 0


def state_bound(plan: Plan) -> StateBound | None:
    """What bounds the state of a stream; None if nothing does.

    The watermark of a query is that of its slowest stream: it bounds nothing unless there is one
    for all that is read. Deduplication writes a row in the batch that read its record.
    """
    nodes = [*walk(plan)]
    kinds = [kind(node) for node in nodes]
    marks = [node for node, name in zip(nodes, kinds, strict=True) if name == "EventTimeWatermark"]
    joins = (node for node, name in zip(nodes, kinds, strict=True) if name == "Join")
    if len(marks) != 1 or len(_streams(marks[0])) < len(_streams(plan)):
        return None
    if any(all(_streams(side) for side in children(join)) for join in joins):
        return None
    if any(name == "Distinct" or name.endswith(_GROUPS) for name in kinds):
        return None
    groups, firsts = kinds.count("Aggregate"), sum(n.startswith("Deduplicate") for n in kinds)
    if firsts:
        return None if groups else StateBound(None)
    return _window_start(plan, nodes) if groups == 1 else None


def _streams(plan: Plan) -> list[Plan]:
    return [node for node in walk(plan) if not children(node) and node.isStreaming()]


def _window_start(plan: Plan, nodes: list[Plan]) -> StateBound | None:
    """The column of the output that is the start of an event-time window."""
    origin = origins(plan)
    output = {origin(one): str(one.name()) for one in listed(plan.output())}
    for node in nodes:
        for one in listed(node.projectList()) if kind(node) == "Project" else ():
            if one.exprId().id() in output and kind(one) == "Alias":
                lateness = _lateness(one.child())
                if lateness is not None:
                    return StateBound(output[one.exprId().id()], lateness)
    return None


def _lateness(expression: Any) -> int | None:
    """The lateness that the watermark of a window allows, for an expression that is its start."""
    if kind(expression) != "GetStructField" or expression.extractFieldName() != "start":
        return None
    window = expression.child()
    if kind(window) != "AttributeReference":
        return None
    told = json.loads(window.metadata().json())
    is_window = told.get("spark.timeWindow") and _DELAY in told
    return int(told[_DELAY]) if is_window else None


def _classes(value: Any) -> Iterator[str]:
    """The classes of all nodes and expressions; running totals by rows count as `RowNumber`."""
    if isinstance(value, dict):
        if "class" in value:
            yield str(value["class"]).rpartition(".")[2].rstrip("$")
        for one in value.values():
            yield from _classes(one)
    elif isinstance(value, list):
        if _has_running_total(value):
            yield "RowNumber"
        for one in value:
            yield from _classes(one)


def _has_running_total(expressions: list[Any]) -> bool:
    """Whether an expression, listed in the order of its tree, sums up rows in their order."""
    names = [
        str(one.get("class", "")).rpartition(".")[2] if isinstance(one, dict) else ""
        for one in expressions
    ]
    for place, name in enumerate(names[:-1]):
        if name == "WindowExpression" and names[place + 1] == "AggregateExpression":
            after = zip(names[place:], expressions[place:], strict=True)
            frame = next((one for cls, one in after if cls == "SpecifiedWindowFrame"), None)
            if frame is not None and "RowFrame" in json.dumps(frame.get("frameType")):
                bounds = (
                    names[place:].count("UnboundedPreceding$"),
                    names.count("UnboundedFollowing$"),
                )
                if bounds[0] == 0 or bounds[1] == 0:
                    return True
    return False
