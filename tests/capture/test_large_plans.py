"""What capture takes of a driver's memory to read plans that are wide or large."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from capture.processes import python, running
from capture.queries import analyzed, run_query
from capture.receiver import Receiver

WIDTH = 600
_STRUCT = ", ".join(f"f{n} int" for n in range(WIDTH))


@pytest.mark.parametrize(
    "query",
    [
        "select s.* from records",
        "select struct(s.*) as again from records",
        "select s.*, t.* from records join (select s as t from records) on s.f1 = t.f1",
        "select a.* from (select explode(array(s)) as a from records)",
    ],
)
def test_the_type_of_a_column_is_not_written_with_each_reference(
    spark: SparkSession, query: str
) -> None:
    spark.sql(f"select from_json('', '{_STRUCT}') as s").createOrReplaceTempView("records")
    frame = run_query(spark, query)
    assert len(analyzed(frame)) < 10 * WIDTH * 1000  # more than 20 MB with the types
    assert f'"f{WIDTH - 1}"' in analyzed(frame)  # where a struct comes from, its type is told


def test_a_plan_that_could_fill_the_heap_is_not_read(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, receiver.url, *python("large_plan.py")) as app:
        assert app.exit_code() == 0, app.text()
        assert {Path(name).name for name in receiver.outputs()} == {"before", "after"}
        assert "the plan is too large to be read" in (tmp_path / "log").read_text()
        assert "Traceback" not in (tmp_path / "log").read_text()
        assert receiver.types("test_app")[-1] == "COMPLETE"
