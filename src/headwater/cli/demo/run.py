"""Runs the demo: the platform under a supervisor, the lab by its director, and who watches."""

import time
from collections import deque
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from headwater.api.jobs import Job
from headwater.cli import stack_up
from headwater.cli.client import Client
from headwater.cli.demo.director import Director, Verdict
from headwater.cli.demo.labs import Lab
from headwater.cli.demo.view import dashboard, verdict_table
from headwater.cli.output import err, note, write_table
from headwater.errors import RequestRefused, ServerUnreachable
from headwater.stack import catalog
from headwater.stack.settings import Settings
from headwater.stack.state import State
from headwater.stack.supervisor import Supervisor

_REFRESH_S = 1.0


def show(lab: Lab, settings: Settings, *, free_ports: bool) -> None:
    """Run a lab until Ctrl-C: with a dashboard on a terminal, in plain lines elsewhere."""
    console = err()
    notes: deque[str] = deque(maxlen=50)
    live = console.is_terminal
    say = notes.append if live else note

    def watch(supervisor: Supervisor) -> None:
        director = Director(lab, lambda: supervisor.state, say)
        director.start()
        try:
            if live:
                _watch_live(console, lab, supervisor, director, notes)
            else:
                _watch_plain(supervisor, director)
        finally:
            director.end()

    listener = (lambda _: None) if live else stack_up.say_change
    stack_up.supervised(_request(free_ports), settings, watch, listener)


def once(lab: Lab, settings: Settings, *, free_ports: bool, broken: bool, limit_s: float) -> bool:
    """Run a lab until its lineage is complete; tell whether it is what it must be."""
    began = time.monotonic()
    results: list[bool] = []

    def watch(supervisor: Supervisor) -> None:
        director = Director(lab, lambda: supervisor.state, note, broken=broken)
        director.start()
        try:
            while not director.deployed.is_set() and time.monotonic() - began < limit_s:
                if not _goes_on(supervisor, director):
                    return
            left = limit_s - (time.monotonic() - began)
            if supervisor.state is not None:
                results.append(_verified(lab, supervisor.state, left, supervisor.wait))
        finally:
            director.end()
        note(f"after {time.monotonic() - began:.0f} s")

    stack_up.supervised(_request(free_ports), settings, watch, stack_up.say_change)
    return results == [True]


def verified(lab: Lab, state: State, limit_s: float) -> bool:
    """Verify a lab that runs already, and write the table."""

    def wait() -> bool:
        time.sleep(_REFRESH_S)
        return True

    return _verified(lab, state, limit_s, wait)


def _verified(lab: Lab, state: State, limit_s: float, wait: Callable[[], bool]) -> bool:
    verdict = Verdict(lab, state, limit_s)
    while not verdict.look():
        if not wait():
            return False
    columns = ("", "FACT", "OF", "EXPECTED", "FOUND")
    write_table(columns, verdict_table(verdict.facts))
    wrong = sum(not fact.right for fact in verdict.facts)
    for name, reason in verdict.reasons.items():
        err().print(Text(f"{name} failed: {reason.splitlines()[0]}"), soft_wrap=True)
    note(f"{len(verdict.facts) - wrong} of {len(verdict.facts)} facts are right")
    return verdict.right


def _request(free_ports: bool) -> stack_up.Request:
    return stack_up.Request(
        services=catalog.choose(extra=("worker",)), ports={}, free_ports=free_ports
    )


def _goes_on(supervisor: Supervisor, director: Director) -> bool:
    if director.error is not None:
        raise director.error
    return supervisor.wait()


def _watch_plain(supervisor: Supervisor, director: Director) -> None:
    told = False
    while _goes_on(supervisor, director):
        if not told and director.deployed.is_set() and supervisor.state is not None:
            told = True
            note(f"everything is deployed; open {supervisor.state.services['server'].address}")


def _watch_live(
    console: Console, lab: Lab, supervisor: Supervisor, director: Director, notes: deque[str]
) -> None:
    jobs: dict[str, Job] = {}
    asked = 0.0
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        while _goes_on(supervisor, director):
            state = supervisor.state
            if time.monotonic() - asked > _REFRESH_S:
                jobs, asked = _jobs(state) or jobs, time.monotonic()
            live.update(dashboard(lab, state, jobs, list(notes)))
        live.stop()
        console.print("stopping …")


def _jobs(state: State | None) -> dict[str, Job]:
    if state is None or state.services["server"].status != "healthy":
        return {}
    try:
        with Client(state.services["server"].address, timeout=5) as client:
            return {one.id.name: one for one in client.jobs([])}
    except (ServerUnreachable, RequestRefused):
        return {}  # it is busy, or comes back: what was known is shown
