"""Hive's own tables and folders, which Spark reads and writes through Hive's serializers."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture.kinds import Check, runs
from capture.processes import running
from capture.receiver import Receiver

Event = dict[str, Any]

STATEMENTS = """
create table texts (id int, price double) partitioned by (day string) row format delimited;
create table records (id int, line struct<sku: string>) stored as avro;
insert into texts partition (day = 'monday') values (1, 2.5);
insert into records values (1, named_struct('sku', 'a'));
create table from_texts using parquet as select id, price * 2 as worth, day from texts;
create table from_records using parquet as select id, line.sku as sku from records;
create table joined using parquet as
  select t.id, r.line.sku as sku from texts t join records r on t.id = r.id where t.price > 1;
insert overwrite local directory 'HOME/given' row format delimited fields terminated by ','
  select id, price from texts;
insert overwrite directory 'HOME/shared' stored as textfile select id, price from texts;
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hive")


@pytest.fixture(scope="module")
def events(home: Path) -> Iterator[list[Event]]:
    """All events of one application: starting Spark is slow."""
    receiver = Receiver()
    (home / "hive.sql").write_text(STATEMENTS.replace("HOME", str(home)))
    options = ("--master", "local[1]", "--conf", "spark.ui.enabled=false", "hive.sql")
    command = (sys.executable, "-m", "headwater.cli.main", "sql", *options)
    with running(home, receiver.url, *command) as app:
        assert app.exit_code() == 0, app.text()
    yield receiver.events
    receiver.close()


def test_tables_of_hive_are_read_with_their_columns(events: list[Event], kind: Check) -> None:
    rows = {
        "/from_texts": "Hive: a partitioned table of text",
        "/from_records": "Hive: a table of Avro",
        "/joined": "Hive: a join of two tables",
    }
    for output, words in rows.items():
        (run,) = runs(events, output)
        kind(words, run)
    (run,) = runs(events, "/from_texts")
    (read,) = run[-1]["inputs"]
    fields = [field["name"] for field in read["facets"]["schema"]["fields"]]
    assert fields == ["id", "price", "day"]


def test_folders_that_hive_writes_are_outputs(events: list[Event], home: Path, kind: Check) -> None:
    rows = {
        "given": "Hive: `INSERT OVERWRITE LOCAL DIRECTORY … ROW FORMAT`",
        "shared": "Hive: `INSERT OVERWRITE DIRECTORY … STORED AS`",
    }
    for folder, words in rows.items():
        (run,) = runs(events, f"/{folder}")
        kind(words, run)
        (written,) = run[-1]["outputs"]
        assert (written["namespace"], written["name"]) == ("file", f"{home}/{folder}")
