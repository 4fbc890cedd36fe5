"""One platform and one Spark session for the whole session: starting them is the slow part."""

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headwater.pipeline.settings import Settings
from pipeline.lab import Lab
from pipeline.tracing import Traced, traced_platform
from stack.platform import Platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    platform = Platform(tmp_path_factory.mktemp("pipeline"))
    platform.up("--only", "kafka,registry,s3,metastore")
    try:
        fetched = platform.run("fetch", "--only", "spark")
        assert fetched.returncode == 0, fetched.stderr
        yield platform
    finally:
        platform.run("down")


@pytest.fixture(scope="session")
def environ(platform: Platform) -> Iterator[dict[str, str]]:
    variables = platform.variables()
    before = dict(os.environ)
    os.environ.update({**variables, "PYSPARK_PYTHON": sys.executable})
    yield variables
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def spark(platform: Platform, environ: dict[str, str]) -> Iterator[SparkSession]:
    conf: dict[str, bool | float | int | str | None] = {
        **platform.spark(),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.scheduler.mode": "FAIR",
        "spark.driver.memory": "2g",
        # Each broadcast that is referred to holds a page: by default, 10 MB of a heap of 1 GB.
        "spark.buffer.pageSize": "1m",
        "spark.sql.datetime.java8API.enabled": "true",
        "spark.sql.streaming.stopTimeout": "60s",
    }
    builder = SparkSession.Builder().master("local[2]").appName("pipeline-tests")
    session = builder.config(map=conf).getOrCreate()
    yield session
    session.stop()
    # The file systems of a JVM outlive its sessions, and others use other object stores.
    session._jvm.org.apache.hadoop.fs.FileSystem.closeAll()  # type: ignore[union-attr]


@pytest.fixture
def lab(
    spark: SparkSession, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    """Connectors that end with the test."""
    lab = Lab(spark, Settings.read(environ), tmp_path_factory.mktemp("checkpoints"))
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def traced(
    spark: SparkSession, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Traced]:
    """Orders in two tables behind a topic; the first record of a partition may be gone."""
    with traced_platform(spark, environ, tmp_path_factory.mktemp("traced")) as found:
        yield found
