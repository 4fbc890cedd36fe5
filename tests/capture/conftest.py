"""One small Spark session for every test of capture that needs none of its own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from capture import kinds
from capture.jars import find_java, prepare_spark
from capture.receiver import Receiver
from capture.tables import create_tables


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew-golden", action="store_true", help="write what is captured now")
    parser.addoption("--renew-lifecycle", action="store_true", help="write docs/lifecycle.md anew")
    parser.addoption("--renew-kinds", action="store_true", help="write docs/kinds.md anew")
    parser.addoption("--oracle-queries", type=int, default=60, help="random queries to try")
    parser.addoption("--tpc", default="tpch,tpcds", help="benchmarks for the oracle")
    parser.addoption("--tpcds-step", type=int, default=14, help="every how many queries of TPC-DS")


@pytest.fixture(scope="session", autouse=True)
def java() -> None:
    find_java()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("capture-tests")
        .config("spark.driver.memory", "900m")
        .config("spark.driver.extraJavaOptions", f"-Dderby.stream.error.file={home}/derby.log")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.default.parallelism", "1")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.jars", prepare_spark())
        .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.ice.type", "hadoop")
        .config("spark.sql.catalog.ice.warehouse", str(home / "iceberg"))
        .config(
            "spark.sql.extensions",
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        )
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    create_tables(session)
    yield session
    session.stop()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A lineage server's place, for one test."""
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="session")
def kind(pytestconfig: pytest.Config) -> kinds.Check:
    """Compares a run with the row of its kind in docs/kinds.md, or writes it there."""

    def check(words: str, events: Sequence[kinds.Event], **rename: str) -> None:
        found = kinds.row(events, rename)
        if pytestconfig.getoption("--renew-kinds") and kinds.TABLE.rows().get(words) != found:
            kinds.TABLE.renew(words, *found)
        assert kinds.TABLE.rows().get(words) == found

    return check


@pytest.fixture(scope="session")
def oracle_queries(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--oracle-queries"))


@pytest.fixture(scope="session")
def report() -> Path:
    """Where the oracle writes its figures, for whoever wants to read them."""
    path = Path(".pytest_cache") / "oracle.txt"
    path.parent.mkdir(exist_ok=True)
    return path


@pytest.fixture(scope="session")
def renewing(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--renew-golden"))
