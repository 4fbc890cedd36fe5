"""An application begins each time as if it were run for the first time."""

import gc
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun import StreamRead, run_application, run_sql
from stack.platform import eventually

_BEGIN = """
import os
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
read = spark.readStream.format("odd").load
"""
_REMEMBERED = {
    "view": "read().createTempView('once')\nrows = spark.table('once')",
    "view if there is none": "if not spark.catalog.tableExists('kept'):\n"
    "    read().createTempView('kept')\nrows = spark.table('kept')",
    "view replaced": "rows = spark.table('mine') if spark.table('mine').columns == ['n'] else "
    "read()\nread().createOrReplaceTempView('mine')",
    "global view": "read().createGlobalTempView('all')\nrows = spark.table('global_temp.all')",
    "variable": "spark.sql('DECLARE VARIABLE one INT DEFAULT 1')\nrows = read()",
    "function": "spark.sql('CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN 1')\nrows = read()",
    "cache": "read().createTempView('v')\nspark.sql('CACHE TABLE c AS SELECT * FROM v')\n"
    "rows = spark.table('v')",
    "module": "from beside import rows",
    "package": "from package.inner import rows",
    "module elsewhere": "sys.path.insert(0, os.path.join(sys.path[0], 'lib'))\n"
    "from below import rows",
    "namespace": "assert spark.catalog.currentDatabase() == 'default'\n"
    "spark.catalog.setCurrentDatabase('elsewhere')\nrows = read()",
    "folder": "assert not os.getcwd() == '/'\nos.chdir('/')\nrows = read()",
    "environment": "assert 'SEEN' not in os.environ\nos.environ['SEEN'] = '1'\nrows = read()",
}


@pytest.mark.parametrize("kind", _REMEMBERED)
def test_an_application_sees_nothing_of_its_runs_before(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    app = tmp_path / "app.py"
    app.write_text(f"{_BEGIN}{_REMEMBERED[kind]}\nrows.writeTo('one').append()")
    module = f"{_BEGIN}rows = read()"
    for path in ("beside.py", "package/inner.py", "lib/below.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(module)
    spark.createDataFrame([], "mine int").createOrReplaceTempView("mine")
    spark.sql("CREATE DATABASE IF NOT EXISTS elsewhere")
    place = Path.cwd()
    for number in (1, 2):

        def stream(_read: StreamRead, number: int = number):  # type: ignore[no-untyped-def]
            return spark.createDataFrame([(number,)], "n int")

        (found,) = run_application(spark, app, stream=stream)
        assert [row[0] for row in found.frame.collect()] == [number]
    assert not {"beside", "package", "below"} & {*sys.modules}
    assert Path.cwd() == place
    assert spark.table("mine").columns == ["mine"]
    spark.catalog.dropTempView("mine")


@pytest.mark.parametrize("ending", ["", "raise ValueError('no')", "while True: rows.count()"])
def test_nothing_of_an_application_stays_in_memory(
    spark: SparkSession, tmp_path: Path, ending: str
) -> None:
    app = tmp_path / "app.py"
    body = "rows = spark.range(3)\nfor _ in range(3):\n    rows.writeTo('one').append()"
    app.write_text(f"{_BEGIN.replace('read =', '# ')}{body}\n{ending}")

    def frames() -> int:
        gc.collect()
        return sum(isinstance(each, DataFrame) for each in gc.get_objects())

    counts = []
    for _ in range(3):
        run_application(spark, app, wanted=lambda planned: planned.target == "one")
        counts.append(frames())
    # Threads of tests before may have frames for a moment.
    eventually(lambda: frames() <= counts[0], 60)


def test_sql_sees_nothing_of_its_runs_before(spark: SparkSession) -> None:
    text = "CREATE TEMP VIEW some AS SELECT 1 AS a; INSERT INTO x SELECT * FROM some"
    for _ in range(2):
        (found,) = run_sql(spark, text)
        assert found.frame.columns == ["a"]
