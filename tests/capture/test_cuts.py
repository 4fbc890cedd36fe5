"""What cuts plans in two, as a checkpoint does, changes nothing in their lineage."""

import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater
from capture.kinds import Event, runs
from capture.receiver import Receiver

_STEPS = 8
_WRITTEN = 3


class Twin(NamedTuple):
    """The same rows, once with cuts behind them and once without."""

    cut: DataFrame
    whole: DataFrame


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def captured(
    spark: SparkSession, receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Receiver]:
    home = tmp_path_factory.mktemp("cuts")
    for name in ("x", "y"):
        spark.createDataFrame([(1, name), (2, "z")], "id INT, v STRING").write.parquet(
            str(home / name)
        )
        spark.read.parquet(str(home / name)).createOrReplaceTempView(f"cuts_{name}")
    capture = headwater.attach(
        spark, url=receiver.url, namespace="cuts", spool_dir=str(home / "spool")
    )
    yield receiver
    capture.detach()
    for name in ("x", "y"):
        spark.catalog.dropTempView(f"cuts_{name}")


def end_of(receiver: Receiver, output: Path) -> Event:
    """The last event of the run that wrote some files."""
    receiver.wait_for(lambda _: bool(runs([*receiver.events], str(output))))
    ((*_, last),) = runs([*receiver.events], str(output))
    return last


def inputs(event: Event) -> set[str]:
    return {one["name"].rpartition("/")[2] for one in event["inputs"]}


def lineage(event: Event) -> Any:
    """The inputs of a run, and its columns with theirs."""
    (output,) = event["outputs"]
    facet = output["facets"].get("columnLineage", {})
    fields = {name: _ways(one["inputFields"]) for name, one in facet.get("fields", {}).items()}
    return inputs(event), fields, _ways(facet.get("dataset", []))


def _ways(edges: list[Event]) -> set[tuple[str, ...]]:
    """How input columns reach an output, each condition by itself."""
    return {
        (edge["name"], edge["field"], how["type"], how["subtype"], text)
        for edge in edges
        for how in edge["transformations"]
        for text in how["description"].split("; ")
    }


def values(event: Event, column: str) -> set[tuple[str, str]]:
    """The input columns whose values reach a column."""
    facet = event["outputs"][0]["facets"].get("columnLineage", {"fields": {}})
    return {
        (edge["name"].rpartition("/")[2], edge["field"])
        for edge in facet["fields"].get(column, {"inputFields": []})["inputFields"]
        if any(how["type"] == "DIRECT" for how in edge["transformations"])
    }


def step(frame: DataFrame, other: DataFrame, number: int) -> DataFrame:
    """One of the operations that keep the columns; many of them keep their ids, too."""
    operations = (
        lambda: frame.filter("id > 0"),
        lambda: frame.filter("v <> 'nobody'"),
        lambda: frame.limit(2),
        lambda: frame.select("id", "v"),
        lambda: frame.selectExpr("id + 1 AS id", "v"),
        lambda: frame.selectExpr("id", "upper(v) AS v"),
        lambda: frame.union(other).limit(4),
        lambda: frame.join(other, "id", "left_semi"),
        lambda: frame.join(other, "id", "left_anti"),
        lambda: frame.alias("a").join(other.alias("b"), "id").selectExpr("id", "b.v").limit(3),
        lambda: frame.alias("a").join(frame.alias("b"), "id").selectExpr("id", "b.v").limit(3),
    )
    return operations[number % len(operations)]()


def checkpoint(frame: DataFrame, number: int) -> DataFrame:
    return (frame, frame.localCheckpoint(), frame.localCheckpoint(eager=False))[number % 3]


@pytest.mark.parametrize("seed", range(8))
def test_checkpoints_change_nothing(
    captured: Receiver, spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    twins = [Twin(frame, frame) for frame in (spark.table("cuts_x"), spark.table("cuts_y"))]
    for _ in range(_STEPS):
        frame, other = chance.choice(twins[-4:]), chance.choice(twins)
        number, how = chance.randrange(100), chance.randrange(3)
        cut = checkpoint(step(frame.cut, other.cut, number), how)
        twins.append(Twin(cut, step(frame.whole, other.whole, number)))
    written = [*enumerate(twins)][-_WRITTEN:]
    for number, (cut, whole) in written:
        cut.write.parquet(f"{tmp_path}/cut{number}")
        whole.write.parquet(f"{tmp_path}/whole{number}")
    for number, _ in written:
        known = lineage(end_of(captured, tmp_path / f"cut{number}"))
        assert known == lineage(end_of(captured, tmp_path / f"whole{number}"))


def test_a_later_checkpoint_changes_no_write_before_it(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    base, other = spark.table("cuts_x"), spark.table("cuts_y")
    joined = base.join(other, "id", "left_semi").localCheckpoint()
    joined.write.parquet(f"{tmp_path}/early")
    base.filter("v = 'x'").localCheckpoint()
    assert inputs(end_of(captured, tmp_path / "early")) == {"x", "y"}


@pytest.mark.parametrize("rounds", [25, 60])
def test_a_loop_of_checkpoints_reads_what_its_first_round_reads(
    captured: Receiver, spark: SparkSession, tmp_path: Path, rounds: int
) -> None:
    frame, added = spark.table("cuts_x"), spark.table("cuts_y")
    for _ in range(rounds):
        frame = frame.selectExpr("id + 1 AS id", "v").localCheckpoint(eager=False)
        frame = frame.join(added, "id", "left_anti")
    frame.localCheckpoint().write.parquet(f"{tmp_path}/loop")
    end = end_of(captured, tmp_path / "loop")
    assert inputs(end) == {"x", "y"}
    assert values(end, "id") == {("x", "id")}


def test_rows_that_pass_through_python_again_and_again_are_followed(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.table("cuts_x")
    for _ in range(25):
        frame = spark.createDataFrame(frame.rdd, "id INT, v STRING")
    frame.write.parquet(f"{tmp_path}/again")
    assert inputs(end_of(captured, tmp_path / "again")) == {"x"}


@pytest.mark.parametrize("way", ["checkpoint", "pandas", "rdd"])
def test_a_frame_joined_with_itself_keeps_its_columns(
    captured: Receiver, spark: SparkSession, tmp_path: Path, way: str
) -> None:
    base = spark.table("cuts_x")
    ways: dict[str, Any] = {
        "checkpoint": base.localCheckpoint,
        "pandas": lambda: spark.createDataFrame(base.toPandas()),
        "rdd": lambda: spark.createDataFrame(base.rdd, "id INT, v STRING"),
    }
    frame = ways[way]()
    joined = frame.alias("a").join(frame.alias("b"), "id").selectExpr("id", "a.v", "b.v AS w")
    joined.write.parquet(f"{tmp_path}/joined")
    end = end_of(captured, tmp_path / "joined")
    assert ("x", "v") in values(end, "v")
    assert values(end, "w") == values(end, "v")


def test_a_pandas_frame_from_a_file_is_not_the_one_that_was_saved(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    rows: Any = spark.table("cuts_x").toPandas()
    rows.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "rows.pickle").write_bytes(pickle.dumps(rows))
    for kind, read in {"parquet": pandas.read_parquet, "pickle": pandas.read_pickle}.items():
        again: Any = read(tmp_path / f"rows.{kind}")
        assert "-" not in str(again.attrs)
        spark.createDataFrame(again).write.parquet(f"{tmp_path}/of_{kind}")
        assert inputs(end_of(captured, tmp_path / f"of_{kind}")) == set()


def test_pandas_frames_of_two_reads_are_not_mixed_up(
    captured: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    for name in ("x", "y"):
        rows: Any = spark.table(f"cuts_{name}").toPandas()
        copy = rows.copy()[rows["id"] > 0]
        spark.createDataFrame(copy).write.parquet(f"{tmp_path}/copy_{name}")
    for name in ("x", "y"):
        assert inputs(end_of(captured, tmp_path / f"copy_{name}")) == {name}


@pytest.mark.parametrize("way", ["arrow", "merge", "concat", "aggregate"])
def test_frames_that_pandas_makes_of_collected_ones_depend_on_them(
    captured: Receiver, spark: SparkSession, tmp_path: Path, way: str
) -> None:
    x: Any = spark.table("cuts_x").toPandas()
    y: Any = spark.table("cuts_y").toPandas()
    ways: dict[str, Any] = {
        "arrow": lambda: spark.table("cuts_x").toArrow(),
        "merge": lambda: x.merge(y, on="id"),
        "concat": lambda: pandas.concat([x, y]),
        "aggregate": lambda: x.groupby("id", as_index=False).agg(most=("v", "max")),
    }
    spark.createDataFrame(ways[way]()).write.parquet(f"{tmp_path}/made")
    end = end_of(captured, tmp_path / "made")
    assert inputs(end) >= {"x", "y"}
    notes = end["run"]["facets"]["headwater_capture"]["notes"]
    assert "may be made from fewer" in str(notes)
    assert {note["kind"] for note in notes} == {"opaque"}
