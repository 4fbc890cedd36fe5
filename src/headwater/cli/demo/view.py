"""How the demo looks: a live dashboard on a terminal, and the table of what was verified."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headwater.api.jobs import Job
from headwater.cli.demo.breaks import BREAKS
from headwater.cli.demo.labs import Lab
from headwater.cli.demo.verify import Fact
from headwater.cli.output import duration_text, state_text
from headwater.cli.stack_view import status_table
from headwater.openlineage.facets import ProgressFacet
from headwater.stack.state import State


def dashboard(
    lab: Lab, state: State | None, jobs: Mapping[str, Job], notes: Sequence[str]
) -> RenderableType:
    """Everything at one glance: services, jobs, where the page is, and what to try."""
    if state is None:
        return Text("preparing …", style="dim")
    parts: list[RenderableType] = [
        Panel(status_table(state), title="services", title_align="left", border_style="dim"),
        Panel(jobs_table(lab, jobs), title=f"lab: {lab.name}", title_align="left",
              border_style="dim"),
    ]  # fmt: skip
    parts += [Text(f"  {note}", style="dim") for note in notes[-3:]]
    parts += [Text(), _page(state), Text(), _suggestions()]
    return Group(*parts)


def jobs_table(lab: Lab, jobs: Mapping[str, Job]) -> Table:
    """The lab's jobs, one a line."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("JOB", "STATE"):
        table.add_column(name, no_wrap=True)
    for name in ("ROWS/S", "ROWS", "LAG", "FOR"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in lab.truth.jobs:
        table.add_row(one.name, *_cells(jobs.get(one.name)))
    return table


def verdict_table(facts: Sequence[Fact]) -> list[tuple[str | Text, ...]]:
    """Rows of what was verified: right ones short, wrong ones with what was expected."""
    return [
        (
            Text("✓ right", style="green") if fact.right else Text("✕ wrong", style="bold red"),
            fact.kind,
            fact.what,
            fact.expected,
            "" if fact.right else fact.found,
        )
        for fact in facts
    ]


def _cells(job: Job | None) -> tuple[str | Text, ...]:
    run = job.latest_run if job else None
    if run is None:
        return Text("○ waiting", style="dim"), "", "", "", ""
    age = duration_text(((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds()) if (
        run.started_at
    ) else ""  # fmt: skip
    progress = msgspec.convert(run.facets.get("headwater_progress"), ProgressFacet | None)
    if progress is None:
        return state_text(run.state), "", "", "", age
    rate = progress.input_rows_per_second
    lags = [source.lag for source in progress.sources or () if source.lag is not None]
    return (
        state_text(run.state),
        f"{rate:,.1f}" if rate is not None and run.state == "RUNNING" else "",
        f"{progress.rows:,}",
        f"{max(lags):,.0f}" if lags else "",
        age,
    )


def _page(state: State) -> Text:
    address = state.services["server"].address
    return Text.assemble("  the page  ", (address, f"bold underline link {address}"))


def _suggestions() -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    for name, one in BREAKS.items():
        table.add_row(Text(f"headwater demo break {name}", style="cyan"), one.about)
    table.add_row(Text("headwater demo mend", style="cyan"), "repair the demo")
    table.add_row(Text("Ctrl-C", style="cyan"), "stop everything; data is kept")
    return table
