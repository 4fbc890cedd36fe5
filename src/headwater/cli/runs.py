"""`headwater runs`: the latest runs of a job, or the last run of every job."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer
from msgspec import Raw

from headwater.api.base import Name
from headwater.api.runs import Run
from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.errors import UsageError
from headwater.openlineage.failures import ERRORS, checks_reason, failure_reason
from headwater.openlineage.lifecycle import RunState
from headwater.openlineage.quality import ASSERTIONS, read_checks

if TYPE_CHECKING:
    from headwater.cli.client import Client


class State(StrEnum):
    """What a run can be asked to be."""

    NEW = "new"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


class _Shown(NamedTuple):
    job: Name
    run: Run


def runs(
    job: Annotated[
        str | None,
        typer.Argument(metavar="JOB", help="A job's node id, or part of its name."),
    ] = None,
    state: Annotated[
        list[State] | None,
        typer.Option(
            metavar="STATE",
            help="Only new, running, completed, failed or aborted runs. Can be repeated.",
        ),
    ] = None,
    children: Annotated[
        bool,
        typer.Option("--children", help="Show the latest run of each job that JOB starts."),
    ] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Show at most N runs.")] = 20,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show the latest runs of a job, or the latest run of every job.

    With --state and no job, all runs of all jobs are searched.
    """
    from headwater.cli.client import Client
    from headwater.cli.output import note, write_json
    from headwater.cli.resolve import resolve_job

    if children and job is None:
        raise UsageError("--children needs a job", hint="Name the job that starts them")
    states = [RunState(one.upper()) for one in state or ()]
    with Client(server) as client:
        if job is None and states:
            found = _in_state(client, states)
        elif job is None:
            found = _last_of_each(client)
        elif children:
            found = _of_children(client, Name(*resolve_job(client, job)), states)
        else:
            found = _of_job(client, Name(*resolve_job(client, job)), states)
        shown = [*islice(found, limit)]
    if as_json:
        write_json([_json(one) for one in shown])
    elif shown:
        _write(shown)
    else:
        note("no runs")


def _last_of_each(client: "Client") -> Iterator[_Shown]:
    for job in client.jobs([]):
        if job.latest_run is not None:
            yield _Shown(job.id, job.latest_run)


def _in_state(client: "Client", states: list[RunState]) -> Iterator[_Shown]:
    for listed in client.all_runs([str(state) for state in states]):
        yield _Shown(listed.job, listed.run)


def _of_job(client: "Client", job: Name, states: list[RunState]) -> Iterator[_Shown]:
    for run in client.runs(job):
        if not states or run.state in states:
            yield _Shown(job, run)


def _of_children(client: "Client", job: Name, states: list[RunState]) -> Iterator[_Shown]:
    for child in client.children(job):
        run = child.latest_run
        if run is not None and (not states or run.state in states):
            yield _Shown(child.id, run)


def _json(one: _Shown) -> dict[str, Any]:
    """A run as the server told it, with its job."""
    return {"job": one.job, **msgspec.to_builtins(one.run)}


def _write(shown: list[_Shown]) -> None:
    from headwater.cli.output import moment_text, state_text, write_table

    names = ["STATE", "JOB", "STARTED (UTC)", "TOOK", "RUN"]
    whys = [_why(one.run) for one in shown]
    rows: list[list[Any]] = [
        [
            state_text(one.run.state), one.job.name, moment_text(one.run.started_at),
            _duration(one.run), one.run.id,
        ]
        for one in shown
    ]  # fmt: skip
    if len({one.job.namespace for one in shown}) > 1:
        names.insert(1, "NAMESPACE")
        rows = [[row[0], one.job.namespace, *row[1:]] for row, one in zip(rows, shown, strict=True)]
    if any(whys):
        names.append("WHY")
        rows = [[*row, why] for row, why in zip(rows, whys, strict=True)]
    write_table(names, rows)


def facet_text(run: Run, facet: str, name: str) -> str:
    """A text of a facet of a run; nothing where a producer sent something else."""
    found = run.facets.get(facet)
    text = found.get(name) if isinstance(found, dict) else None
    return text if isinstance(text, str) else ""


def _duration(run: Run) -> str:
    from headwater.cli.output import duration_text

    if run.duration_ms is not None:
        return duration_text(run.duration_ms / 1000)
    if run.started_at is None or run.state != RunState.RUNNING:
        return "-"
    return duration_text(max(0.0, (datetime.now(UTC) - run.started_at).total_seconds()))


def _why(run: Run) -> str:
    """What went wrong, in one line; --json has all of it."""
    if run.state == RunState.FAILED:
        return _error(run) or checks_reason(_failed_checks(run))
    if run.state == RunState.ABORTED:
        return failure_reason(facet_text(run, "headwater_lapse", "reason")) or _error(run)
    return ""


def _error(run: Run) -> str:
    for facet in ERRORS:
        if message := facet_text(run, facet, "message"):
            return failure_reason(message, facet_text(run, facet, "stackTrace"))
    return ""


def _failed_checks(run: Run) -> list[tuple[str, str]]:
    told = (read.facets.get(ASSERTIONS) for read in run.input_dataset_versions)
    checks = (check for one in told for check in read_checks(Raw(msgspec.json.encode(one))))
    return [(check.assertion, check.column) for check in checks if not check.success]
