"""A predicate as someone types it, checked before Spark evaluates it.

Spark's own parser reads it. Columns, literals, comparisons, arithmetic and the functions listed
here may stand in it; a function that calls Java (`reflect`), a subquery, or one that somebody has
registered may not.
"""

import json

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from headwater.errors import BadPredicate

_NODES = frozenset({
    "And", "Or", "Not", "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan",
    "GreaterThanOrEqual", "In", "Like", "ILike", "RLike", "IsNull", "IsNotNull", "Literal", "Cast",
    "UnresolvedAttribute", "UnresolvedExtractValue", "UnresolvedFunction", "Add", "Subtract",
    "Multiply", "Divide", "Remainder", "UnaryMinus", "UnaryPositive", "Concat", "CaseWhen",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "abs", "between", "ceil", "coalesce", "concat", "date", "date_add", "date_sub", "date_trunc",
    "day", "dayofmonth", "floor", "hour", "isnan", "isnotnull", "isnull", "length", "lower",
    "minute", "month", "round", "second", "substr", "substring", "timestamp", "timestamp_millis",
    "to_date", "to_timestamp", "trim", "trunc", "upper", "year",
})  # fmt: skip
_LONGEST = 10_000  # characters
_DEEP = "it is nested too deeply"
_SIGNS_OF_DEPTH = ("StackOverflow", "TOO_COMPLEX")


def condition(spark: SparkSession, text: str) -> Column:
    """The predicate as a column.

    Raises: BadPredicate.
    """
    if len(text) > _LONGEST:
        raise BadPredicate(text, f"it has more than {_LONGEST} characters")
    if "${" in text:  # Spark would put a variable of the environment in its place
        raise BadPredicate(text, "${ must not stand in it")
    try:
        tree = json.loads(_parsed(spark, text))
    except RecursionError:
        raise BadPredicate(text, _DEEP) from None
    except (Py4JError, PySparkException) as error:
        is_deep = any(sign in str(error) for sign in _SIGNS_OF_DEPTH)
        raise BadPredicate(text, _DEEP if is_deep else reason_of(error)) from None
    for node in tree:
        _check(text, node)
    return F.expr(text)


def reason_of(error: Exception) -> str:
    """What Spark says of an error, in one line."""
    text = _root_cause(error) if isinstance(error, Py4JJavaError) else str(error)
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if line), type(error).__name__).rstrip(";")


def _root_cause(error: Py4JJavaError) -> str:
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString())


def _parsed(spark: SparkSession, text: str) -> str:
    parser = spark._jsparkSession.sessionState().sqlParser()
    return str(parser.parseExpression(text).toJSON())


def _check(text: str, node: dict[str, object]) -> None:
    kind = str(node["class"]).rpartition(".")[2]
    if kind == "UnresolvedFunction":
        name = str(node.get("nameParts", "")).strip("[]")
        if name.lower() not in _FUNCTIONS:
            raise BadPredicate(text, f"the function {name} must not stand in it")
    elif kind not in _NODES:
        raise BadPredicate(text, f"{_word(kind)} must not stand in it")


def _word(kind: str) -> str:
    if kind in ("Exists", "InSubquery", "ListQuery", "ScalarSubquery"):
        return "a subquery"
    return f"an expression of the kind {kind}"
