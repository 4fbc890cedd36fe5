"""No text of a configuration becomes part of a statement: Spark's own parser is the judge."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as T

import headwater.capture
import headwater.pipeline
from headwater.errors import BadConfig, SecretMissing
from headwater.pipeline import sql
from headwater.pipeline.config import parse
from headwater.pipeline.hosting import verify
from headwater.pipeline.sinks.iceberg import planned_table
from headwater.pipeline.targets import routes

ROWS = T.StructType([T.StructField("id", T.StringType()), T.StructField("day", T.DateType())])
SINK = {"connector.class": "iceberg-sink", "topics": "orders", "iceberg.tables": "default.orders"}
CALL = "reflect('java.lang.System', 'getenv', 'AWS_SECRET_ACCESS_KEY')"
HOSTILE = [
    f"id STRING DEFAULT {CALL}",
    f"id STRING) USING iceberg AS SELECT {CALL} --",
    f"id STRING) AS SELECT {CALL} AS id, (1",
    "x'; DROP TABLE t; --",
    "x' = 'y', 'z",
    "\\' OR 1=1",
    "a\\",
    "`) AS SELECT 1 --",
    "a`b.c``d",
    "days(id)) AS SELECT 1 --",
    f"bucket({CALL}, id)",
    f"{CALL}",
    "a\nb /* */ c",
    "é\u0000\u2028𐐷",
    "${env:NOT_THERE}",
]
KEYS = [
    "iceberg.tables",
    "iceberg.catalog",
    "iceberg.tables.default-partition-by",
    "iceberg.tables.route-field",
    "iceberg.tables.auto-create-props.comment",
    "iceberg.table.default.orders.schema",
    "iceberg.table.default.orders.partition-by",
    "iceberg.table.default.orders.route-regex",
]
PLANS = ("CreateNamespace", "CreateTable", "AddColumns")
NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=3)


def plan_of(spark: SparkSession, statement: str) -> Any:
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(statement)


def statements(config: dict[str, str]) -> Iterator[str]:
    """What a sink would have Spark run before its query starts."""
    parsed = parse("hostile", config, {})
    verify(parsed)
    for way in routes(parsed):
        table = planned_table(
            parsed, way, f"{parsed.get('iceberg.catalog', 'c')}.{way.table}", ROWS
        )
        assert table.columns is not None
        yield sql.create_namespace(sql.parts(table.name)[:-1])
        yield sql.create_table(table.name, table.columns, table.partition_by, table.properties)
        yield sql.add_columns(table.name, table.columns)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("key", KEYS)
def test_hostile_values_are_refused_or_stay_values(
    spark: SparkSession, key: str, hostile: str
) -> None:
    faults: dict[str, str] = {}
    made: list[str] = []
    try:
        made = [*statements({**SINK, key: hostile})]
    except BadConfig as error:
        faults = error.faults
    except SecretMissing as error:
        faults = {key: str(error)}
    assert made or key in faults
    for statement in made:
        plan = plan_of(spark, statement)
        assert str(plan.getClass().getSimpleName()) in PLANS
        shown = str(plan.toString())
        assert "Project" not in shown
        assert "Function" not in shown


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=NAMES, comment=st.text(max_size=20), size=st.integers(1, 99))
def test_names_types_and_values_come_back_as_they_were(
    spark: SparkSession, name: list[str], comment: str, size: int
) -> None:
    inner = T.StructType([T.StructField(name[-1], T.DecimalType(10, 2), nullable=False)])
    fields = T.StructType(
        [
            T.StructField(name[0], T.ArrayType(inner), metadata={"comment": comment}),
            T.StructField(f"{name[0]}_", T.MapType(T.StringType(), inner)),
        ]
    )
    key = sql.Partition((name[0],), "bucket", size)
    dotted = sql.quoted(name)
    assert sql.parts(dotted) == tuple(name)
    plan = plan_of(spark, sql.create_table(dotted, fields, [key], {comment or "k": comment}))
    assert str(plan.getClass().getSimpleName()) == "CreateTable"
    found = plan.name().nameParts()
    assert [found.apply(n) for n in range(found.length())] == name
    parsed = T.StructType.fromJson(json.loads(plan.tableSchema().json()))
    assert parsed == fields
    properties = plan.tableSpec().properties()
    assert str(properties.apply(comment or "k")) == comment


def test_dotted_names_are_read_as_people_write_them() -> None:
    assert sql.parts("lake.default.my-orders") == ("lake", "default", "my-orders")
    assert sql.parts("lake.`a.b`.`c``d`") == ("lake", "a.b", "c`d")
    for bad in ("", ".", "a.", ".a", "a..b", "a.`b", "`a`b", "a. .b"):
        with pytest.raises(ValueError, match="is not a name"):
            sql.parts(bad)


def test_partition_fields_are_columns_or_known_transforms() -> None:
    text = "days(bid_time), bucket(16, id),truncate(name, 4) , year(`a b`), supplier"
    assert [str(one) for one in sql.partitions(text)] == [
        *("days(`bid_time`)", "bucket(16, `id`)", "truncate(4, `name`)", "years(`a b`)"),
        "`supplier`",
    ]
    for bad in ("day(a, b)", "bucket(id)", "bucket(0, id)", "shell(id)", "id) (", "days()"):
        with pytest.raises(ValueError):  # noqa: PT011
            sql.partitions(bad)


_RUN = {"sql", "expr", "selectExpr"}
_MAYBE = {"where", "filter", "orderBy", "sort", "groupBy"}


def test_statements_are_made_in_one_module_only() -> None:
    """Anything else than a constant, or a call of that module, given to Spark as SQL is a fault."""
    faults = []
    for package in (headwater.pipeline, headwater.capture):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            faults += [f"{path.name}:{call.lineno}" for call in _calls(tree) if _is_pasted(call)]
    assert not faults


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _is_pasted(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in _RUN:
        return any(not _is_safe(argument) for argument in call.args)
    texts = (ast.JoinedStr, ast.BinOp)
    return call.func.attr in _MAYBE and any(
        isinstance(argument, texts) and _is_text(argument) for argument in call.args
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or any(
        isinstance(inner, ast.JoinedStr)
        or (isinstance(inner, ast.Constant) and isinstance(inner.value, str))
        for inner in ast.iter_child_nodes(node)
    )


def _is_safe(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == "sql"


def test_the_check_sees_what_it_is_for() -> None:
    bad = ["spark.sql(f'DROP {x}')", "spark.sql('a' + x)", "F.expr(text)", "rows.where(f'{a} > 1')"]
    for text in bad:
        assert any(_is_pasted(call) for call in _calls(ast.parse(text))), text
    good = [
        "spark.sql('SHOW TABLES')",
        "spark.sql(sql.show_tables(x))",
        "rows.where(F.col(f'{a}'))",
    ]
    for text in good:
        assert not any(_is_pasted(call) for call in _calls(ast.parse(text))), text
