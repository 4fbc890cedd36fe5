"""`headwater sql`: a file of statements, without any program."""

import sys
from pathlib import Path

from capture.kinds import Check, runs
from capture.processes import running
from capture.receiver import Receiver

STATEMENTS = """
-- Two tables; and a comment with a semicolon.
create table orders (id int, price double) using parquet;
insert into orders values (1, 2.5), (2, 3.5);
create table totals using parquet as select id, sum(price) as total from orders group by id;
create table raw (id int, price double) row format delimited fields terminated by ',';
load data local inpath 'raw.csv' into table raw;
select 'total of', id, total from totals where id > ${low};
"""


def test_file_of_statements_is_captured(tmp_path: Path, receiver: Receiver, kind: Check) -> None:
    (tmp_path / "daily.sql").write_text(STATEMENTS)
    (tmp_path / "raw.csv").write_text("1,2.5\n")
    options = ("--master", "local[1]", "--conf", "spark.ui.enabled=false")
    command = (sys.executable, "-m", "headwater.cli.main", "sql", *options)
    last = ("daily.sql", "--hivevar", "low=1")
    with running(tmp_path, receiver.url, *command, *last) as app:
        assert app.exit_code() == 0, app.text()
    log = (tmp_path / "log").read_text()
    assert "total of\t2\t3.5" in log
    assert "capture failed" not in log
    assert receiver.types("daily") == ["START", "COMPLETE"]
    ended = [event for event in receiver.events if event["eventType"] == "COMPLETE"]
    totals = next(event for event in ended if event["job"]["name"].endswith("totals"))
    assert totals["job"]["name"].startswith("daily.")
    fields = totals["outputs"][0]["facets"]["columnLineage"]["fields"]
    inputs = {one["field"] for one in fields["total"]["inputFields"]}
    assert inputs == {"id", "price"}
    assert totals["inputs"][0]["facets"]["symlinks"]["identifiers"][0]["name"] == "default.orders"
    loaded = next(event for event in ended if event["job"]["name"].endswith("default_raw"))
    assert loaded["inputs"][0]["name"] == str(tmp_path / "raw.csv")
    (output,) = loaded["outputs"]
    assert output["facets"]["symlinks"]["identifiers"][0]["name"] == "default.raw"
    price = output["facets"]["columnLineage"]["fields"]["price"]["inputFields"]
    assert [(one["name"], one["field"]) for one in price] == [(str(tmp_path / "raw.csv"), "price")]
    kind("`headwater sql`: `CREATE TABLE … AS SELECT`", *runs(receiver.events, "/totals"))
    kind("`headwater sql`: `LOAD DATA`", *runs(receiver.events, "/raw"))
