"""A backend that is killed under load, and a driver that is killed while events wait."""

import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from capture.processes import Application, python, running
from capture.waiting import until
from server.process import ServerProcess

# `make outage` has ten minutes here.
OUTAGE = float(os.environ.get("HEADWATER_OUTAGE_SECONDS", "8"))
BESIDE = 60.0  # the most that is looked at before and after
REPORT = os.environ.get("HEADWATER_OUTAGE_REPORT", "")
_WHOLE = ["START", "COMPLETE"]
PHASES = ("backend up", "backend killed", "backend back")


def test_backend_that_is_killed_under_load_misses_nothing(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "next").mkdir()
    spool = {"HEADWATER_SPOOL_DIR": str(tmp_path / "spool")}
    with ServerProcess(f"sqlite:///{tmp_path}/lineage.db", tmp_path / "server.log") as server:
        with running(tmp_path / "app", server.url, *python("load.py"), **spool) as app:
            until(lambda: len(runs_of(app)) >= 3 or app.over(), 240, app.text)
            marks = [time.time()]
            rest(app, marks, min(OUTAGE, BESIDE))
            server.end(signal.SIGKILL)
            rest(app, marks, OUTAGE)
            server.start()
            rest(app, marks, min(OUTAGE, BESIDE))
            # What waited is delivered without haste: it may take as long as it has waited.
            until(lambda: told_of(server, runs_of(app)[:-1]), 120 + OUTAGE, server.log)
            report(app, marks)
            server.end(signal.SIGKILL)
            before = len(runs_of(app))
            until(lambda: len(runs_of(app)) > before + 2, 120, app.text)
            app.signal(signal.SIGKILL)
            app.exit_code()
        server.start()
        with running(tmp_path / "next", server.url, *python("batch.py", "end"), **spool) as later:
            assert later.exit_code() == 0, later.text()
        # The end of the last one may not have been written down before the driver was killed.
        assert told_of(server, runs_of(app)[:-1]), server.log()
        assert in_order(tmp_path / "lineage.db")
        assert not list((tmp_path / "spool").iterdir())


def runs_of(app: Application) -> list[str]:
    """The short queries that are through, by their runs."""
    path = app.home / "runs"
    return path.read_text().split() if path.exists() else []


def rest(app: Application, marks: list[float], seconds: float) -> None:
    """Let the driver work for a while; it does."""
    before, end = len(runs_of(app)), time.time() + seconds
    until(lambda: time.time() > end and len(runs_of(app)) > before + 2, seconds + 240, app.text)
    marks.append(time.time())


def told_of(server: ServerProcess, runs: list[str]) -> bool:
    """Whether the server has the beginning and the end of every run."""
    return all(_types(server, run)[:1] + _types(server, run)[-1:] == _WHOLE for run in runs)


def _types(server: ServerProcess, run: str) -> list[str]:
    found = server.api.get("/events/lineage", runId=run, sortDirection="asc")["events"]
    return [str(event["eventType"]) for event in found]


def in_order(store: Path) -> bool:
    """Whether the events of the streaming queries came in the order of their times."""
    with closing(sqlite3.connect(store)) as db:
        rows = db.execute(
            "select event.time from event join job on job.id = event.job"
            " where job.name in ('busy', 'short') order by seq"
        ).fetchall()
    times = [row[0] for row in rows]
    return len(times) > len(PHASES) and times == sorted(times)


def report(app: Application, marks: list[float]) -> None:
    """How fast the busy query was in each phase, for whoever wants to read it."""
    samples = [json.loads(line) for line in (app.home / "batches").read_text().splitlines()]
    runs, lines = len(runs_of(app)), []
    for phase, start, end in zip(PHASES, marks, marks[1:], strict=False):
        inside = [batch for at, batch in samples if start <= at <= end]
        assert inside[-1] > inside[0], f"{phase}: the busy query stood still"
        pace = (inside[-1] - inside[0]) / (end - start)
        lines.append(f"| {phase} | {end - start:.0f} | {inside[-1] - inside[0]} | {pace:.2f} |")
    text = TABLE.format(rows="\n".join(lines), runs=runs)
    if REPORT:
        Path(REPORT).write_text(text)


TABLE = """# Benchmark: backend outage

A driver runs one query at full speed and starts and ends short queries at the same time. The
lineage server is killed with SIGKILL and restarted later. Written by `make outage`; `make test`
contains the same test with a shorter outage.

| Phase | Seconds | Micro-batches of the busy query | Per second |
|---|---|---|---|
{rows}

{runs} short queries started and ended meanwhile; the server has every START and every ending,
in order.
"""
