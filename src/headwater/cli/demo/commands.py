"""`headwater demo`, and its commands to break, mend and verify what it runs."""

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.extras import needs
from headwater.cli.help import Command, Front
from headwater.cli.output import note
from headwater.errors import PipelineExtraMissing, UsageError

if TYPE_CHECKING:
    from headwater.cli.demo.labs import Lab
    from headwater.stack.state import State

demo = typer.Typer(name="demo", help="Run the demo, break it and verify it.", cls=Front)


class LabName(StrEnum):
    """Which lab runs."""

    stream = "stream"
    connect = "connect"


class Way(StrEnum):
    """How the demo is broken."""

    stop = "stop"
    schema = "schema"
    worker = "worker"
    poison = "poison"


Which = Annotated[
    LabName,
    typer.Option(
        "--lab",
        help="`stream`: streaming jobs and a batch job; `connect`: a source and two sinks.",
    ),
]
Multi = Annotated[
    bool, typer.Option("--multi", help="Use two topics instead of one (with --lab connect).")
]
Limit = Annotated[
    float,
    typer.Option(
        "--limit", metavar="SECONDS", help="Maximum time to wait for the lineage to match."
    ),
]


@demo.callback(invoke_without_command=True)
@needs(PipelineExtraMissing)
def run(
    context: typer.Context,
    lab: Which = LabName.stream,
    multi: Multi = False,
    once: Annotated[
        bool, typer.Option("--once", help="Verify the lineage when it is complete, then stop.")
    ] = False,
    broken: Annotated[
        bool, typer.Option("--broken", help="Poison the topic first, so that --once must fail.")
    ] = False,
    limit: Limit = 300,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Use free ports instead of the well-known ones.")
    ] = False,
) -> None:
    """Run the platform, the lineage server, a worker and a lab."""
    if context.invoked_subcommand:
        return
    from headwater.cli.demo import run as runs
    from headwater.stack.files import disk_faults_are_told
    from headwater.stack.settings import Settings

    settings, chosen = Settings.read(os.environ), _lab(lab, multi)
    with disk_faults_are_told(settings.home):
        if not once:
            runs.show(chosen, settings, free_ports=free_ports)
        elif not runs.once(chosen, settings, free_ports=free_ports, broken=broken, limit_s=limit):
            raise typer.Exit(1)


@demo.command("break", cls=Command)
@needs(PipelineExtraMissing)
def break_it(
    way: Annotated[Way, typer.Argument(help="What to break.", show_default=False)],
    name: Annotated[str, typer.Argument(help="The job to stop.", show_default=False)] = "",
) -> None:
    """Break the running demo: stop a job, change the schema, kill the worker or poison a topic."""
    from headwater.cli.demo.breaks import BREAKS

    one = BREAKS[way.value]
    note(one.do(_running(), name))
    note(f"watch: {one.then}")


@demo.command(cls=Command)
@needs(PipelineExtraMissing)
def mend() -> None:
    """Repair the running demo: resume jobs, restore the schema, skip undecodable records."""
    from headwater.cli.demo import breaks

    for line in breaks.mend(_running()) or ["nothing was broken"]:
        note(line)


@demo.command(cls=Command)
@needs(PipelineExtraMissing)
def verify(lab: Which = LabName.stream, multi: Multi = False, limit: Limit = 15) -> None:
    """Compare the running demo's lineage with the expected lineage."""
    from headwater.cli.demo import run as runs

    if not runs.verified(_lab(lab, multi), _running(), limit):
        raise typer.Exit(1)


def _running() -> "State":
    from headwater.stack.settings import Settings
    from headwater.stack.state import running

    return running(Settings.read(os.environ).home)


def _lab(name: LabName, multi: bool) -> "Lab":
    from headwater.cli.demo.labs import LABS

    if multi and name is not LabName.connect:
        raise UsageError("--multi needs the other lab", hint="Add --lab connect")
    return LABS["connect-multi" if multi else name.value]
