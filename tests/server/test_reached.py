"""Records of a topic, followed through commits, snapshots and the runs that read them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headwater.server.lineage.reached import reached
from headwater.server.lineage.view import StoreView, StoreViews
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Session, open_database
from server.api import Api
from server.events import dataset, facet, minute, run_event, run_id

_KAFKA, _LAKE = "kafka://b:9092", "s3://lake"
_ORDERS, _TABLE = dataset("orders", _KAFKA), dataset("default/orders", _LAKE)
_TOPIC = f"dataset:{_KAFKA}:orders"
_UUID = "5f6d3c1e-0000-4000-8000-000000000001"  # of the table


def _report(*commits: tuple[int, str | None, int, int], **more: Any) -> dict[str, Any]:
    """A report on commits, each with its batch, snapshot and what it read of partition 0."""
    source = {
        "startOffset": {"orders": {"0": commits[0][2], "1": 0}},
        "endOffset": {"orders": {"0": commits[-1][3], "1": 0}},
    }
    told = [
        {"batch": batch, "offsets": {"orders": {"0": [start, end]}},
         **({"snapshot": snapshot, "sequence": batch + 1, "history": [[1, batch + 1]],
             "table": _UUID} if snapshot else {})}
        for batch, snapshot, start, end in commits
    ]  # fmt: skip
    snapshots = [one[1] for one in commits if one[1]]
    last = commits[-1][0]
    return facet(rows=0, batchId=last, sources=[source], commits=told, snapshots=snapshots, **more)


def _version(of: dict[str, Any], snapshot: str) -> dict[str, Any]:
    return {**of, "facets": {**of.get("facets", {}), "version": facet(datasetVersion=snapshot)}}


def _sink(at: float, report: dict[str, Any], run: str = "sink") -> dict[str, Any]:
    return run_event("RUNNING", at, run=run, job=run, headwater_progress=report)


def _start_sink(api: Api) -> None:
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        _sink(1, _report((0, "11", 0, 10))),
        _sink(2, _report((1, "12", 10, 20), (2, "13", 20, 30))),
        _sink(3, _report((3, "14", 30, 40))),
    )


def _question(first: int, last: int, node: str = _TOPIC, partition: int = 0) -> dict[str, Any]:
    return {"nodeId": node, "partition": partition, "firstOffset": first, "lastOffset": last}


def _ask(api: Api, first: int, last: int) -> list[dict[str, Any]]:
    told = api.get("/reached", **_question(first, last))
    assert told["complete"]
    jobs: list[dict[str, Any]] = told["jobs"]
    return jobs


@pytest.mark.parametrize(
    ("first", "last", "snapshots"),
    [(0, 9, ["11"]), (9, 10, ["11", "12"]), (15, 15, ["12"]), (20, 20, ["13"]),
     (19, 30, ["12", "13", "14"]), (39, 1000, ["14"]), (0, 2**62, ["11", "12", "13", "14"])],
)  # fmt: skip
def test_records_are_found_in_the_snapshots_that_hold_them(
    api: Api, first: int, last: int, snapshots: list[str]
) -> None:
    _start_sink(api)
    (sink,) = _ask(api, first, last)
    assert (sink["name"], sink["exact"], sink["step"]) == ("sink", True, 1)
    (table,) = sink["outputs"]
    assert (table["name"], table["snapshots"]) == ("default/orders", snapshots)


def test_a_function_that_writes_a_table_may_put_the_records_into_later_snapshots(api: Api) -> None:
    names = [{"namespace": "hive://m:9083", "name": "default.orders", "type": "TABLE"}]
    table = {**_TABLE, "facets": {"symlinks": facet(identifiers=names)}}
    folder = dataset("archive", _LAKE)
    for job, output in (("merging", table), ("archive", folder)):
        api.send(run_event("START", 0, run=job, job=job, inputs=[_ORDERS], outputs=[output]))
        api.send(_sink(1, _report((0, None, 0, 10)), job))
    archive, merging = _ask(api, 5, 5)
    assert (archive["name"], archive["exact"]) == ("archive", True)
    assert (merging["name"], merging["exact"]) == ("merging", False)
    assert "reports no snapshots" in merging["runs"][0]["reason"]


def test_records_that_nobody_has_read_reached_nothing(api: Api) -> None:
    _start_sink(api)
    assert _ask(api, 40, 50) == []


def test_a_report_without_commits_repeats_positions_and_counts_for_nothing(api: Api) -> None:
    _start_sink(api)
    again = {**_report((3, "14", 30, 40)), "commits": [], "snapshots": []}
    api.send(_sink(4, again), _sink(5, again), _sink(6, _report((4, "15", 40, 50))))
    (sink,) = _ask(api, 35, 35)
    assert (sink["exact"], sink["outputs"][0]["snapshots"]) == (True, ["14"])
    (sink,) = _ask(api, 45, 45)
    assert (sink["exact"], sink["outputs"][0]["snapshots"]) == (True, ["15"])
    assert sink["runs"][0]["since"] == minute(5)


def test_the_first_commit_may_tell_no_offsets(api: Api) -> None:
    first = _report((0, "11", 0, 10))
    del first["commits"][0]["offsets"]
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        _sink(1, first),
    )
    (sink,) = _ask(api, 5, 5)
    assert (sink["exact"], sink["outputs"][0]["snapshots"]) == (False, ["11"])


def test_a_run_is_told_with_its_batches(api: Api) -> None:
    _start_sink(api)
    (sink,) = _ask(api, 15, 25)
    assert sink["runs"] == [{
        "runId": run_id("sink"), "state": "RUNNING", "since": minute(1), "firstBatch": 1,
        "lastBatch": 2, "exact": True, "reason": None, "readBy": minute(2),
    }]  # fmt: skip


def test_readers_of_a_snapshot_are_told_apart_by_what_they_read(api: Api) -> None:
    _start_sink(api)
    for name, snapshot in (("before", "11"), ("then", "12"), ("after", "14")):
        api.send(run_event("COMPLETE", 5, run=name, job=name, inputs=[_version(_TABLE, snapshot)],
                           outputs=[_version(dataset(name, _LAKE), f"9{snapshot}")]))  # fmt: skip
    api.send(run_event("COMPLETE", 5, run="silent", job="silent", inputs=[_TABLE]))
    told = {job["name"]: job for job in _ask(api, 15, 15)}
    assert {name: job["exact"] for name, job in told.items()} == {
        "sink": True, "then": True, "after": True, "silent": False,
    }  # fmt: skip
    assert told["then"]["outputs"][0]["snapshots"] == ["912"]
    assert "not reported" in told["silent"]["runs"][0]["reason"]
    assert [one["nodeId"] for one in told["sink"]["inputs"]] == [_TOPIC]
    assert [one["name"] for one in told["then"]["inputs"]] == ["default/orders"]


def _commit(
    batch: int, snapshot: str, sequence: int, history: Any, table: str | None = _UUID
) -> dict[str, Any]:
    """A report on the commit of ten records."""
    offsets = {"orders": {"0": [10 * batch, 10 * batch + 10]}}
    commit = {"batch": batch, "snapshot": snapshot, "sequence": sequence, "offsets": offsets}
    commit |= {"table": table} if table else {}
    source = {"startOffset": {"orders": {"0": 10 * batch}},
              "endOffset": {"orders": {"0": 10 * batch + 10}}}  # fmt: skip
    return facet(rows=0, batchId=batch, sources=[source], snapshots=[snapshot],
                 commits=[commit | ({"history": history} if history else {})])  # fmt: skip


def _read(api: Api, version: str, at: float = 60, of: dict[str, Any] = _TABLE) -> str:
    """A job that reads a version of a table; its name."""
    name = f"reads-{version}"
    api.send(run_event("COMPLETE", at, run=name, job=name, inputs=[_version(of, version)]))
    return name


def _how(api: Api, offset: int, job: str) -> bool | None:
    """Whether a record reached a job for certain; None if it is not listed."""
    return {one["name"]: one["exact"] for one in _ask(api, offset, offset)}.get(job)


def test_a_snapshot_has_the_records_of_those_that_it_was_made_from(api: Api) -> None:
    """Snapshot 2 was rolled back; 3 and 4 were made from 1, and 5 in a branch from 3."""
    api.send(run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]))
    histories = [[[1, 1]], [[1, 2]], [[1, 1], [3, 3]], [[1, 1], [3, 4]], [[1, 1], [3, 3], [5, 5]]]
    for batch, history in enumerate(histories):
        api.send(_sink(batch + 1, _commit(batch, f"s{batch + 1}", batch + 1, history)))
    told = {
        version: [_how(api, 10 * batch, _read(api, version)) for batch in range(5)]
        for version in ("s1", "s2", "s3", "s4", "s5")
    }
    assert told == {
        "s1": [True, None, None, None, None],
        "s2": [True, True, None, None, None],
        "s3": [True, False, True, None, None],
        "s4": [True, False, True, True, None],
        "s5": [True, False, True, False, True],
    }
    (run,) = next(job for job in _ask(api, 10, 10) if job["name"] == "reads-s4")["runs"]
    assert "rolled back" in run["reason"]


@pytest.mark.parametrize("number", [2, 0])
def test_the_order_of_snapshots_alone_proves_nothing(api: Api, number: int) -> None:
    """Of a writer that reports no history, and of a table that does not count its snapshots."""
    api.send(run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]))
    for batch in range(2):
        sequence = (batch + 1) * (number > 0)
        api.send(_sink(batch + 1, _commit(batch, f"s{batch}", sequence, None)))
    assert _how(api, 5, _read(api, "s1")) is False
    assert _how(api, 15, "reads-s1") is True


def test_the_history_of_a_table_is_known_across_its_writers(api: Api) -> None:
    """Snapshots of a stream, of batch writes, and some that nobody reports, such as compaction."""
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        _sink(1, _commit(0, "s1", 1, [[1, 1]])),
    )
    for number in (2, 5):
        told = facet(rows=1, snapshots=[f"s{number}"], sequence=number, history=[[1, number]],
                     table=_UUID)  # fmt: skip
        api.send(run_event("COMPLETE", number, run=f"b{number}", job="batch", outputs=[_TABLE],
                           headwater_progress=told))  # fmt: skip
    api.send(_sink(6, _commit(1, "s6", 6, [[1, 6]])))
    for version in ("s2", "s5", "s6"):
        assert _how(api, 5, _read(api, version)) is True
    assert [_how(api, 15, f"reads-{version}") for version in ("s2", "s5", "s6")] == [
        None, None, True,
    ]  # fmt: skip


@pytest.mark.parametrize("uuids", [("a", "b"), (None, "b"), ("a", None), (None, None)])
@pytest.mark.parametrize("snapshots", [1, 30])
def test_a_table_that_was_created_again_does_not_go_on_with_the_history_of_the_old_one(
    api: Api, uuids: tuple[str | None, str | None], snapshots: int
) -> None:
    """Numbers begin anew: those of the old table stand in the histories of the new one as well."""
    old, new = uuids
    api.send(run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]))
    for batch in range(snapshots):
        number = batch + 100 * (snapshots > 1) + 1
        told = _commit(batch, f"old{batch}", number, [[1, number]], old)
        api.send(_sink(1 + batch / 100, told))
    for number in (1, 2):
        written = facet(rows=1, snapshots=[f"new{number}"], sequence=number,
                        history=[[1, number]], **({"table": new} if new else {}))  # fmt: skip
        api.send(run_event("COMPLETE", 10 + number, run=f"clean{number}", job="clean",
                           outputs=[_TABLE], headwater_progress=written))  # fmt: skip
    readers = [_read(api, version) for version in ("old0", "new1", "new2")]
    found = {one["name"]: one["exact"] for one in _ask(api, 0, 10 * snapshots - 1)}
    told_of = [found.get(reader) for reader in readers]
    assert told_of[0] is True
    assert True not in told_of[1:]
    if old and new and snapshots == 1:
        assert told_of[1:] == [None, None]


def test_records_that_come_again_after_a_table_was_created_again_are_found(api: Api) -> None:
    """Many snapshots of the old table are known before the first one of the new one."""
    api.send(run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]))
    for batch in range(40):
        number = batch + 101 if batch < 30 else batch - 29
        uuid = "a" if batch < 30 else "b"
        told = _commit(batch, f"s{batch}", number, [[1, number]], uuid)
        api.send(_sink(1 + batch / 100, told))
    written = facet(rows=1, snapshots=["later"], sequence=11, history=[[1, 11]], table="b")
    api.send(run_event("COMPLETE", 12, run="other", job="other", outputs=[_TABLE],
                       headwater_progress=written))  # fmt: skip
    reader = _read(api, "later")
    found = {one["name"]: one["exact"] for one in _ask(api, 0, 399)}
    assert reader in found
    assert _how(api, 350, reader) is True


def test_a_writer_that_tells_no_snapshots_may_have_made_any(api: Api) -> None:
    """The records may be in an earlier snapshot than the first one that is known to hold them."""
    names = [{"namespace": "hive://m:9083", "name": "default.orders", "type": "TABLE"}]
    table = {**_TABLE, "facets": {"symlinks": facet(identifiers=names)}}
    api.send(run_event("START", 0, run="each", job="each", inputs=[_ORDERS], outputs=[table]))
    api.send(_sink(1, _report((0, None, 0, 10)), "each"))
    written = facet(rows=1, snapshots=["s5"], sequence=5, history=[[1, 5]], table=_UUID)
    api.send(run_event("COMPLETE", 2, run="between", job="between", outputs=[table],
                       headwater_progress=written))  # fmt: skip
    api.send(run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[table]))
    told = _commit(0, "s9", 9, [[1, 9]])
    api.send(_sink(3, told))
    assert _how(api, 5, _read(api, "s5", of=table)) is False


def test_histories_of_earlier_runs_reach_behind_snapshots_that_have_expired(api: Api) -> None:
    """Each run sees no snapshots before the last one of the run before it."""
    for run in range(4):
        name = f"r{run}"
        api.send(run_event("START", 10 * run, run=name, job="sink", inputs=[_ORDERS],
                           outputs=[_TABLE]))  # fmt: skip
        first = max(1, 2 * run)
        for batch in (2 * run, 2 * run + 1):
            history = [[first, batch + 1]]
            event = _sink(10 * run + batch + 1, _commit(batch, f"s{batch}", batch + 1, history))
            api.send({**event, "job": {"namespace": "jobs", "name": "sink"},
                      "run": {**event["run"], "runId": run_id(name)}})  # fmt: skip
    reader = _read(api, "s7", at=500)
    assert [_how(api, 10 * batch, reader) for batch in range(8)] == [True] * 8


def test_a_run_that_tells_no_snapshot_of_its_table_is_not_exact(api: Api) -> None:
    """Two writes of one statement at the same time as others: which snapshots are its own?"""
    _start_sink(api)
    names = [{"namespace": "hive://m:9083", "name": "default.copy", "type": "TABLE"}]
    copy = dataset("default/copy", _LAKE)
    table = {**copy, "facets": {"symlinks": facet(identifiers=names)}}
    for run, output in (("untold", table), ("told", _version(table, "91"))):
        api.send(run_event("COMPLETE", 6, run=run, job=run, inputs=[_version(_TABLE, "14")],
                           outputs=[output]))  # fmt: skip
    told = {job["name"]: job for job in _ask(api, 15, 15)}
    assert (told["untold"]["exact"], told["told"]["exact"]) == (False, True)
    assert "reports no snapshots" in told["untold"]["runs"][0]["reason"]


def test_runs_before_the_records_came_are_left_out(api: Api) -> None:
    api.send(run_event("COMPLETE", 0, run="early", job="early", inputs=[_TABLE]))
    _start_sink(api)
    assert [job["name"] for job in _ask(api, 15, 15)] == ["sink"]


def test_what_keeps_state_may_hold_records_in_all_later_commits(api: Api) -> None:
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        _sink(1, _report((0, "11", 0, 10), watermark="2026-01-01T00:00:00Z")),
        _sink(2, _report((1, "12", 10, 20), watermark="2026-01-01T00:00:00Z")),
        _sink(3, _report((2, "13", 20, 30), watermark="2026-01-01T00:00:00Z")),
    )
    (job,) = _ask(api, 15, 15)
    assert not job["exact"]
    assert job["outputs"][0]["snapshots"][-2:] == ["12", "13"]


def test_jobs_come_in_the_order_in_which_to_run_them_again(api: Api) -> None:
    _start_sink(api)
    daily, totals = dataset("daily", _LAKE), dataset("totals", _LAKE)
    api.send(
        run_event("COMPLETE", 5, run="b", job="b-daily", inputs=[_TABLE], outputs=[daily]),
        run_event("COMPLETE", 6, run="a", job="a-totals", inputs=[daily, _TABLE], outputs=[totals]),
        run_event("COMPLETE", 7, run="loop", job="z", inputs=[totals], outputs=[daily]),
    )
    told = {job["name"]: job["step"] for job in _ask(api, 0, 0)}
    assert told == {"sink": 1, "b-daily": 2, "a-totals": 3, "z": 4}


def test_records_are_found_in_a_long_run(api: Api) -> None:
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        *(_sink(at, _report((at, str(at), 10 * at, 10 * at + 10))) for at in range(1, 900)),
    )
    for at in (1, 2, 450, 898, 899):
        (sink,) = _ask(api, 10 * at + 3, 10 * at + 4)
        assert sink["outputs"][0]["snapshots"] == [str(at)]


@pytest.mark.parametrize("seed", range(12))
def test_any_range_gives_the_commits_that_overlap_it(api: Api, seed: int) -> None:
    """Runs with idle reports, empty batches, several commits a report and pauses of hours."""
    chance = random.Random(seed)
    events, made, offset, at, batch = [], list[tuple[str, int, int]](), 0, 0.0, 0
    for run in ("first", "second", "third"):
        events.append(run_event("START", at, run=run, job="sink", inputs=[_ORDERS],
                                outputs=[_TABLE]))  # fmt: skip
        last = None
        for _ in range(chance.randint(0, 40)):
            at += chance.choice([1 / 60, 1 / 60, 0.1, 1, 20])
            commits = []
            for _ in range(chance.choice([0, 0, 1, 1, 3])):
                end = offset + chance.randint(1, 9)
                commits.append((batch, str(batch), offset, end))
                made.append((str(batch), offset, end))
                offset, batch = end, batch + 1
            if commits:
                last = _report(*commits)
            elif last is not None:
                last = {**last, "commits": [], "snapshots": []}
            if last is not None:
                events.append(_sink(at, last, run))
        events = [{**one, "job": {"namespace": "jobs", "name": "sink"}} for one in events]
        at += 1
    api.send_batch(*chance.sample(events, len(events)))
    for _ in range(25):
        first = chance.randint(0, offset + 2)
        last_offset = first + chance.choice([0, 1, 5, 40, 1000])
        jobs = _ask(api, first, last_offset)
        found = {s for job in jobs for output in job["outputs"] for s in output["snapshots"]}
        true = [id_ for id_, start, end in made if start <= last_offset and end > first]
        assert found == {*true}
        runs = [run for job in jobs for run in job["runs"]]
        batches = [run[key] for run in runs for key in ("firstBatch", "lastBatch")]
        assert [min(batches), max(batches)] == [int(true[0]), int(true[-1])] if true else not runs
        assert all(job["exact"] for job in jobs)


def test_reports_of_other_tables_decide_nothing(api: Api) -> None:
    """Two tables may have a snapshot with one id; only the writers of a table know its order."""
    _start_sink(api)
    reader = run_event("COMPLETE", 5, run="r", job="reader", inputs=[_version(_TABLE, "14")])
    foreign = facet(rows=0, commits=[{"batch": 0, "snapshot": "12", "sequence": 99}],
                    snapshots=["12"])  # fmt: skip
    other = run_event("RUNNING", 1, run="o", job="other", outputs=["elsewhere"],
                      headwater_progress=foreign)  # fmt: skip
    api.send(reader, other)
    assert [job["name"] for job in _ask(api, 15, 15)] == ["sink", "reader"]


def test_a_partition_that_nobody_reads_opens_few_events(api: Api) -> None:
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        *(_sink(at, _report((at, None, 10 * at, 10 * at + 10))) for at in range(1, 300)),
    )
    with _counted(api) as (view, statements):
        root = view.dataset_id(_KAFKA, "orders")
        assert root is not None
        assert reached(view, root, "9", 0, 10).jobs == []
    assert len(statements) < 20


def test_the_work_grows_with_the_runs_and_not_with_the_ways_between_them(api: Api) -> None:
    """A chain of tables that all feed one, each by a run that is earlier the later its table is."""
    counts = []
    for tables in (10, 60):
        topic, name = dataset(f"topic{tables}", _KAFKA), f"n{tables}"
        told = facet(rows=0, commits=[{"batch": 1, "offsets": {topic["name"]: {"0": [0, 9]}}}])
        events = [
            run_event("START", 0, run=f"{name}s", job=f"{name}s", inputs=[topic],
                      outputs=[f"{name}_0"]),
            run_event("RUNNING", 1, run=f"{name}s", job=f"{name}s", headwater_progress=told),
        ]  # fmt: skip
        for at in range(tables):
            here = f"{name}_{at}"
            events.append(run_event("COMPLETE", 2, run=f"{here}c", job=f"{here}c", inputs=[here],
                                    outputs=[f"{name}_{at + 1}"]))  # fmt: skip
            events.append(run_event("COMPLETE", 400 - at, run=f"{here}w", job=f"{here}w",
                                    inputs=[here], outputs=[f"{name}_all"]))  # fmt: skip
            events.append(run_event("COMPLETE", 500, run=f"{here}r", job=f"{here}r",
                                    inputs=[f"{name}_all"]))  # fmt: skip
        api.send_batch(*events)
        with _counted(api) as (view, statements):
            root = view.dataset_id(_KAFKA, topic["name"])
            assert root is not None
            assert len(reached(view, root, "0", 0, 9).jobs) == 3 * tables + 1
        counts.append(len(statements))
    assert counts[1] < 7 * counts[0], counts


@contextmanager
def _counted(api: Api) -> Iterator[tuple[StoreView, list[str]]]:
    """A view of a server's store, and the statements that it ran."""
    database, statements = open_database(api.store_url), list[str]()

    class Counted:
        def __init__(self, session: Session) -> None:
            self._session, self.dialect = session, session.dialect

        def all(self, sql: str, *params: Any) -> list[Any]:
            statements.append(sql)
            return self._session.all(sql, *params)

        def many(self, sql: str, rows: Any) -> None:
            raise AssertionError("a question only reads")

        def run(self, sql: str, *params: Any) -> None:
            raise AssertionError("a question only reads")

    with StoreViews(database, AliasRules(())).open_view() as view:
        counted = StoreView(Counted(view.session), view.rules, view.contents, view.at, view.budget)
        yield counted, statements
    database.close()


def test_snapshots_are_those_of_the_table_and_not_of_all_that_a_run_writes(api: Api) -> None:
    letters, other = dataset("letters", _KAFKA), dataset("default/other", _LAKE)
    for run, outputs in (("both", [letters, _TABLE]), ("two", [_TABLE, other])):
        api.send(
            run_event("START", 0, run=run, job=run, inputs=[_ORDERS], outputs=outputs),
            _sink(1, _report((0, f"{run}1", 0, 10)), run=run),
        )
    jobs = {job["name"]: job for job in _ask(api, 3, 4)}
    both = {one["name"]: one["snapshots"] for one in jobs["both"]["outputs"]}
    assert both == {"letters": [], "default/orders": ["both1"]}
    assert jobs["both"]["exact"]
    two = {one["name"]: one["snapshots"] for one in jobs["two"]["outputs"]}
    assert two == {"default/orders": [], "default/other": []}
    assert not jobs["two"]["exact"]


@pytest.mark.parametrize(
    ("question", "status", "told"),
    [
        (_question(0, 1, partition=7), 404, "Partition '7' not found: runs have read 0, 1"),
        (_question(0, 1, node=f"dataset:{_LAKE}:default/orders"), 400, "is not a topic"),
        (_question(0, 1, node="job:test:sink"), 400, "from a Kafka topic"),
        (_question(0, 1, node=f"datasetField:{_KAFKA}:orders:id"), 400, "from a Kafka topic"),
        (_question(0, 1, node=f"dataset:{_KAFKA}:nothing"), 404, "'nothing' not found"),
        (_question(0, 1, node="orders"), 400, "nodeId"),
        (_question(5, 4), 400, "lastOffset must not be before firstOffset"),
        (_question(0, 1, partition=-1), 400, "partition"),
        (_question(-1, 4), 400, "firstOffset"),
        (_question(0, 1, partition=2**40), 400, "partition"),
        (_question(0, 2**70), 400, "lastOffset"),
    ],
)
def test_what_is_not_a_record_is_told_in_one_line(
    api: Api, question: dict[str, Any], status: int, told: str
) -> None:
    _start_sink(api)
    answer = api.client.get("/api/v1/reached", params=question)
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
    assert "\\n" not in answer.text


def test_how_far_a_partition_was_read_is_told(api: Api) -> None:
    _start_sink(api)
    ends = [
        api.get("/reached", **_question(90, 99, partition=number))["readUpTo"] for number in (0, 1)
    ]
    assert ends == [40, 0]


def _restarted(api: Api, told: int, recovered: int, **more: Any) -> None:
    """Run "one" makes batches 0 to 2 and tells some; "two" repeats some and makes batch 3."""
    made = [(0, "11", 0, 10), (1, "12", 10, 20), (2, "13", 20, 30), (3, "14", 30, 40)]
    for number, run in enumerate(("one", "two")):
        start = run_event(
            "START", 10 * number, run=run, job="s", inputs=[_ORDERS], outputs=[_TABLE]
        )
        api.send(start)
    for number, commit in enumerate(made[:told]):
        event = run_event("RUNNING", 1 + number, run="one", job="s")
        event["run"]["facets"]["headwater_progress"] = _report(commit)
        api.send(event)
    api.send(run_event("ABORT", 9, run="one", job="s"))
    report = _report(*made[3 - recovered :], **more)
    report["sources"][0]["startOffset"] = {"orders": {"0": 30, "1": 0}}
    for commit in report["commits"][:-1]:
        commit["recovered"] = True
    api.send(run_event("RUNNING", 11, run="two", job="s", headwater_progress=report))


@pytest.mark.parametrize("told", [3, 2, 1])
@pytest.mark.parametrize("recovered", [3, 2])
def test_commits_that_a_run_repeats_are_those_of_the_run_before(
    api: Api, told: int, recovered: int
) -> None:
    _restarted(api, told, recovered)
    for offset in range(0, 40, 5):
        batch = offset // 10
        if batch < 3 and batch >= told and batch < 3 - recovered:
            continue  # nobody has told of it
        (job,) = _ask(api, offset, offset)
        (run,) = job["runs"]
        assert run["runId"] == run_id("one" if batch < 3 else "two"), offset
        assert (run["firstBatch"], run["lastBatch"], run["exact"]) == (batch, batch, True)
        assert job["outputs"][0]["snapshots"] == [f"{11 + batch}"]
    (job,) = _ask(api, 25, 35)
    assert [run["runId"] for run in job["runs"]] == [run_id("one"), run_id("two")]
    assert job["outputs"][0]["snapshots"] == ["13", "14"]
    (read,) = api.get(f"/runs/{run_id('two')}/lineage")["inputs"]
    assert read["offsets"]["0"] == {"from": 30, "to": 40}


def test_commits_that_were_never_told_of_a_query_with_state_are_no_exact_answer(api: Api) -> None:
    _restarted(api, told=1, recovered=2, stateRows=5)
    one = _ask(api, 25, 25)[0]["runs"][0]
    assert (one["runId"], one["exact"]) == (run_id("one"), False)


def test_records_are_in_all_later_commits_of_a_query_with_state(api: Api) -> None:
    for number, run in enumerate(("one", "two", "three")):
        at, first = 10 * number, 2 * number
        start = run_event("START", at, run=run, job="s", inputs=[_ORDERS], outputs=[_TABLE])
        api.send(start)
        for batch in (first, first + 1):
            commit = (batch, f"{11 + batch}", 10 * batch, 10 * batch + 10)
            event = run_event("RUNNING", at + 1 + batch, run=run, job="s")
            event["run"]["facets"]["headwater_progress"] = _report(commit, stateRows=5)
            api.send(event)
        api.send(run_event("COMPLETE", at + 9, run=run, job="s"))
    for offset in range(0, 60, 5):
        (job,) = _ask(api, offset, offset)
        held = {f"{11 + batch}" for batch in range(offset // 10, 6)}
        assert (job["exact"], held - {*job["outputs"][0]["snapshots"]}) == (False, set()), offset
        later = [run_id(run) for run in ("one", "two", "three")[offset // 20 :]]
        assert [run["runId"] for run in job["runs"]] == later


def test_snapshots_that_a_query_repeats_in_the_middle_of_its_run_count_once(api: Api) -> None:
    """The query was started again within the run: the report of batch 5 repeats those before."""
    _start_sink(api)
    api.send(_sink(4, _report((4, "15", 40, 50))))
    made = [(1, "12", 10, 20), (2, "13", 20, 30), (3, "14", 30, 40), (4, "15", 40, 50)]
    report = _report(*made, (5, "16", 50, 60))
    report["sources"][0]["startOffset"] = {"orders": {"0": 50, "1": 0}}
    for commit in report["commits"][:-1]:
        commit["recovered"] = True
    api.send(_sink(5, report), _sink(6, _report((6, "17", 60, 70))))
    for first, last, snapshots in (
        (45, 65, ["15", "16", "17"]), (55, 55, ["16"]), (45, 55, ["15", "16"]), (15, 15, ["12"]),
    ):  # fmt: skip
        (sink,) = _ask(api, first, last)
        assert (sink["exact"], sink["outputs"][0]["snapshots"]) == (True, snapshots)


def test_records_that_a_killed_run_did_not_report_are_laid_to_it(api: Api) -> None:
    """A stream into a topic leaves no snapshot by which the next run could tell of its commits."""
    out = dataset("totals", _ORDERS["namespace"])
    for at, run, commits in (
        (0, "one", [(0, None, 0, 10), (1, None, 10, 20)]), (10, "two", [(4, None, 27, 40)]),
    ):  # fmt: skip
        api.send(
            run_event("START", at, run=run, job="t", inputs=[_ORDERS], outputs=[out]),
            run_event("RUNNING", at + 1, run=run, job="t", headwater_progress=_report(*commits)),
        )
    for first, last, name, is_exact in (
        (15, 15, "one", True), (20, 20, "one", False), (26, 26, "one", False),
        (22, 25, "one", False), (27, 27, "two", True), (39, 39, "two", True),
    ):  # fmt: skip
        (job,) = _ask(api, first, last)
        assert [run["runId"] for run in job["runs"]] == [run_id(name)], first
        assert job["exact"] == is_exact
        assert [one["name"] for one in job["outputs"]] == ["totals"]
    assert _ask(api, 40, 50) == []
