"""Several writes of one application into one table are all on the graph of a real server."""

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

import headwater
from capture.waiting import until
from server.api import Api
from server.process import ServerProcess

Day = Callable[[Callable[[], None]], None]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    home = tmp_path_factory.mktemp("server")
    with ServerProcess(f"sqlite:///{home}/store.db", home / "log") as server:
        yield server


@pytest.fixture(scope="module")
def api(server: ServerProcess) -> Api:
    return server.api


@pytest.fixture(scope="module")
def day(
    spark: SparkSession, server: ServerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Day]:
    """Runs the application once: what it does is reported when this is over."""
    for name in ("add_a", "add_b", "add_t"):
        spark.sql(f"CREATE TABLE {name} (id INT, v STRING) USING parquet")
    for name in ("src", "t"):
        spark.sql(f"CREATE TABLE ice.add.{name} (id INT, v STRING) USING iceberg")
    spark.sql("INSERT INTO ice.add.t VALUES (1, 'x'), (2, 'y')")
    spool = str(tmp_path_factory.mktemp("spool"))

    def run(work: Callable[[], None]) -> None:
        capture = headwater.attach(
            spark, url=server.url, namespace="adding", spool_dir=spool, app_name="nightly"
        )
        work()
        capture.detach()

    yield run
    for name in ("add_a", "add_b", "add_t"):
        spark.sql(f"DROP TABLE {name}")
    for name in ("src", "t"):
        spark.sql(f"DROP TABLE ice.add.{name}")


def expect(api: Api, job: str, inputs: set[str]) -> None:
    """Wait for the inputs of a job, by the ends of their names; its columns have the same."""

    def found() -> set[str]:
        told = api.get(f"/namespaces/adding/jobs/{job}")["inputs"]
        return {one["name"].rpartition("/")[2] for one in told}

    until(lambda: _has(api, job) and found() == inputs, 120, lambda: str(found()))
    (output,) = api.get(f"/namespaces/adding/jobs/{job}")["outputs"]
    node = f"datasetField:{output['namespace']}:{output['name']}:v"
    graph = api.columns(node)
    origins = {edge["destination"] for edge in graph[node]["inEdges"]}
    assert {origin.split(":")[-2].rpartition("/")[2] for origin in origins} == inputs


def _has(api: Api, job: str) -> bool:
    jobs = api.get("/namespaces/adding/jobs")["jobs"]
    return any(one["name"] == job for one in jobs)


def test_inserts_into_one_table_add_up_until_the_next_day(
    spark: SparkSession, api: Api, day: Day
) -> None:
    job = "nightly.execute_insert_into_hadoop_fs_relation_command.default_add_t"

    def insert(*names: str) -> None:
        for name in names:
            spark.table(name).write.insertInto("add_t")

    day(lambda: insert("add_a", "add_b"))
    expect(api, job, {"add_a", "add_b"})
    day(lambda: insert("add_b", "add_a"))
    expect(api, job, {"add_a", "add_b"})
    day(lambda: insert("add_b"))
    expect(api, job, {"add_b"})


def test_changes_of_one_iceberg_table_add_up(spark: SparkSession, api: Api, day: Day) -> None:
    def change() -> None:
        spark.sql(
            "MERGE INTO ice.add.t t USING ice.add.src s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.v = s.v"
        )
        spark.sql("UPDATE ice.add.t SET v = upper(v) WHERE id = 1")
        spark.sql("DELETE FROM ice.add.t WHERE v = 'X'")

    day(change)
    expect(api, "nightly.replace_data.add_t", {"src", "t"})
