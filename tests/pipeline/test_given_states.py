"""Plans over tables that are read in other states, or that have other columns since."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

import headwater
from headwater.capture.classic import Capture
from headwater.trace.derivation import Derived
from headwater.trace.given import Evaluated, Given, GivenPlan
from headwater.trace.iceberg import IcebergTable
from headwater.trace.why import why
from pipeline.tracing import ORDERS, Traced

_T, _OUT = "states.db.t", "states.db.out"
_V3 = "USING iceberg TBLPROPERTIES ('format-version' = '3')"
_SESSION = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"


class States(NamedTuple):
    """A table with two snapshots: the first has the ids 1 and 2, the second 3 and 4 as well."""

    spark: SparkSession
    first: str
    second: str
    folder: Path

    def run(self, text: str) -> None:
        self.spark.sql(text)

    def evaluated(self, text: str, snapshot: str) -> Evaluated:
        """A plan, for a write whose run reported a snapshot of the table."""
        text = text.format(t=_T, first=self.first, second=self.second)
        given = Given(sql=f"INSERT INTO {_OUT} {text}")
        if text.startswith("spark"):
            app = self.folder / "app.py"
            app.write_text(f"{_SESSION}({text}).writeTo('{_OUT}').append()")
            given = Given(str(app))
        node = str(IcebergTable(self.spark, _T).node)
        write = {"inputs": [{"nodeId": node, "snapshot": snapshot}]}
        (found,) = GivenPlan(self.spark, given).over(IcebergTable(self.spark, _OUT), write)
        return found

    def derived(self, found: Evaluated, id_: int) -> Derived:
        frame = self.spark.createDataFrame([(id_,)], "id int")
        return found.derivation.of(frame.collect()[0], frame.schema)


@pytest.fixture
def states(spark: SparkSession, tmp_path: Path) -> Iterator[States]:
    prefix = "spark.sql.catalog.states"
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(tmp_path / "warehouse"))
    spark.conf.set(f"{prefix}.cache-enabled", "false")
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    spark.sql("DROP TABLE IF EXISTS states.db.t")
    spark.sql(f"CREATE TABLE {_T} (id INT, name STRING, size INT, s STRUCT<x: INT>) {_V3}")
    spark.sql(f"CREATE TABLE {_OUT} (id INT) {_V3}")
    snapshots = []
    for rows in ("(1, 'a'), (2, 'b')", "(3, 'a'), (4, 'b')"):
        values = f"SELECT i, n, i, named_struct('x', i) FROM VALUES {rows} AS v(i, n)"
        spark.sql(f"INSERT INTO {_T} {values}")
        snapshots.append(str(IcebergTable(spark, _T).current))
        if len(snapshots) == 1:
            spark.sql(f"ALTER TABLE {_T} CREATE TAG early")
            spark.sql(f"ALTER TABLE {_T} CREATE BRANCH audit")
    yield States(spark, snapshots[0], snapshots[1], tmp_path)
    for table in (_T, _OUT):
        spark.sql(f"DROP TABLE {table}")


_DOUBTFUL = {
    "increment": "spark.read.format('iceberg').option('start-snapshot-id', '{first}')"
    ".option('end-snapshot-id', '{second}').load('{t}').select('id')",
    "increment of a table": "spark.read.option('start-snapshot-id', '{first}').table('{t}')"
    ".select('id')",
    "increment in SQL": "SELECT id FROM {t} WITH (`start-snapshot-id` = '{first}')",
    "an earlier version": "SELECT id FROM {t} VERSION AS OF {first}",
    "a version by option": "spark.read.option('versionAsOf', '{first}').table('{t}').select('id')",
    "a tag": "SELECT id FROM {t} VERSION AS OF 'early'",
    "a branch": "SELECT id FROM {t}.branch_audit",
    "a branch by option": "spark.read.option('branch', 'audit').table('{t}').select('id')",
    "a version by name": "SELECT id FROM {t}.snapshot_id_{first}",
    "two versions": "SELECT a.id FROM {t} a LEFT SEMI JOIN {t} VERSION AS OF {first} b "
    "ON a.name = b.name",
    "two versions in a union": "SELECT id FROM {t} VERSION AS OF {first} UNION ALL "
    "SELECT id FROM {t}",
    "two versions of a common table": "WITH a AS (SELECT * FROM {t}) SELECT a.id FROM a "
    "LEFT SEMI JOIN (SELECT * FROM {t} VERSION AS OF {first}) b ON a.name = b.name",
}


_OF_FIRST = ("an earlier version", "a version by option", "a tag", "a version by name")


@pytest.mark.parametrize(
    ("kind", "is_first"),
    [(kind, False) for kind in _DOUBTFUL]
    + [(kind, True) for kind in _DOUBTFUL if kind not in _OF_FIRST],
)
def test_other_states_than_the_run_reported_are_doubted(
    states: States, kind: str, is_first: bool
) -> None:
    """Whichever of the states the run reports: where a plan reads one, it is another."""
    found = states.evaluated(_DOUBTFUL[kind], states.first if is_first else states.second)
    assert found.doubts or found.missing


@pytest.mark.parametrize(
    ("text", "is_first"),
    [("SELECT id FROM {t}", True), ("SELECT id FROM {t}", False),
     ("SELECT id FROM {t} VERSION AS OF {first}", True),
     ("SELECT id FROM {t} VERSION AS OF 'early'", True),
     ("SELECT id FROM {t} VERSION AS OF {second}", False),
     ("SELECT id FROM {t} WITH (`split-size` = '1000')", False),
     ("SELECT a.id FROM {t} a LEFT SEMI JOIN {t} b ON a.id = b.id", False)],
)  # fmt: skip
def test_the_state_that_the_run_reported_is_followed(
    states: States, text: str, is_first: bool
) -> None:
    found = states.evaluated(text, states.first if is_first else states.second)
    assert (found.doubts, found.missing) == ([], [])
    for id_, is_there in ((1, True), (3, not is_first)):
        derived = states.derived(found, id_)
        assert derived.exact == is_there, derived.reason
        rows = [one["id"] for rows in derived.rows.values() for one in rows]
        assert rows == ([id_] if is_there else [])


_CHANGES = {
    "added": ("ALTER TABLE {} ADD COLUMN note STRING", "id, name"),
    "added in front": ("ALTER TABLE {} ADD COLUMN note STRING FIRST", "id, name"),
    "added, all columns": ("ALTER TABLE {} ADD COLUMN note STRING", "*"),
    "added and used": ("ALTER TABLE {} ADD COLUMN note STRING", "id, coalesce(note, name) AS n"),
    "added to a struct": ("ALTER TABLE {} ADD COLUMN s.y INT", "id, s.x AS x"),
    "renamed": ("ALTER TABLE {} RENAME COLUMN size TO length", "id, name"),
    "renamed, all columns": ("ALTER TABLE {} RENAME COLUMN size TO length", "*"),
    "renamed and used": ("ALTER TABLE {} RENAME COLUMN size TO length", "id, length + 1 AS n"),
    "dropped": ("ALTER TABLE {} DROP COLUMN size", "*"),
    "moved": ("ALTER TABLE {} ALTER COLUMN size FIRST", "*"),
    "widened": ("ALTER TABLE {} ALTER COLUMN size TYPE BIGINT", "id, name"),
    "widened in a struct": ("ALTER TABLE {} ALTER COLUMN s.x TYPE BIGINT", "id, name"),
    "widened and used": ("ALTER TABLE {} ALTER COLUMN size TYPE BIGINT", "id, size + 1 AS n"),
    "widened in a struct and used": ("ALTER TABLE {} ALTER COLUMN s.x TYPE BIGINT", "id, s.x AS x"),
}


@pytest.mark.parametrize("kind", _CHANGES)
def test_columns_that_have_changed_since_are_those_of_then(states: States, kind: str) -> None:
    change, columns = _CHANGES[kind]
    states.run(change.format(_T))
    rows = f"SELECT {columns} FROM {{t}} WHERE name = 'a'"
    found = states.evaluated(f"SELECT id FROM ({rows})", states.second)
    assert bool(found.doubts) == (kind.startswith("widened") and "used" in kind)
    derived = states.derived(found, 3)
    assert derived.exact, derived.reason
    assert [one["id"] for rows in derived.rows.values() for one in rows] == [3]


@pytest.mark.parametrize("name", ["_spec_id", "_file", "_pos", "_deleted", "_row_id", "_partition"])
def test_columns_of_metadata_are_followed(states: States, name: str) -> None:
    text = f"SELECT a.id, a.`{name}` AS m FROM {{t}} a LEFT SEMI JOIN {{t}} b ON a.id = b.id"
    found = states.evaluated(f"SELECT id FROM ({text})", states.second)
    derived = states.derived(found, 3)
    assert (found.doubts, derived.exact) == ([], True), derived.reason


def test_why_follows_a_table_that_has_more_columns_since(traced: Traced, tmp_path: Path) -> None:
    out = "traced.default.evolved"
    text = f"INSERT INTO {out} SELECT order_id FROM {ORDERS} WHERE order_id = 'o1'"
    _written(traced, tmp_path, out, "id STRING", text)
    traced.spark.sql(f"ALTER TABLE {ORDERS} ADD COLUMN note STRING")
    try:
        records = _records(traced, out, text)
    finally:
        traced.spark.sql(f"ALTER TABLE {ORDERS} DROP COLUMN note")
    assert records.exact, records.reason
    assert [one.values["order_id"] for one in records.rows] == ["o1"]


def test_what_cannot_be_evaluated_again_is_incomplete(traced: Traced, tmp_path: Path) -> None:
    """An expression that fails."""
    source, out = "traced.default.raising", "traced.default.of_raising"
    traced.spark.sql(f"CREATE TABLE {source} (id INT) {_V3}")
    traced.spark.sql(f"INSERT INTO {source} SELECT 1")
    _written(traced, tmp_path, out, "id INT", f"INSERT INTO {out} SELECT id FROM {source}")
    records = _records(
        traced, out, f"INSERT INTO {out} SELECT id + raise_error('no') FROM {source}"
    )
    assert (records.exact, records.complete, records.records) == (False, False, [])
    assert "could not be evaluated again: " in records.reason
    assert "\n" not in records.reason


def _written(traced: Traced, folder: Path, table: str, columns: str, text: str) -> None:
    traced.spark.sql(f"CREATE TABLE {table} ({columns}) {_V3}")
    capture = headwater.attach(traced.spark, url=traced.server.url, spool_dir=str(folder / "spool"))
    assert isinstance(capture, Capture)
    try:
        with capture.part(table.rpartition(".")[2]) as session:
            session.sql(text)
    finally:
        capture.detach()


def _records(traced: Traced, table: str, text: str) -> Any:
    given = Given(sql=text, time_zone="UTC")
    story = why(traced.spark, traced.client, table, "true", 1, traced.settings, given)
    return story.rows[0].records
