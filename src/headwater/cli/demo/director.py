"""Directs the demo: waits for services, deploys a lab, and follows what becomes of it."""

import threading
import time
from collections.abc import Callable

from headwater.cli.client import Client
from headwater.cli.connect import Connect, traces
from headwater.cli.demo.breaks import BREAKS
from headwater.cli.demo.labs import Lab, connector, known_connectors
from headwater.cli.demo.verify import Fact, check
from headwater.errors import HeadwaterError, RequestRefused, ServerUnreachable, WorkerRefused
from headwater.stack.state import State

_POLL_S = 0.3
# How long nothing more may become right before a failed job is taken as the last word.
_HOPELESS_S = 15.0


class Director(threading.Thread):
    """Brings a lab up on a platform that comes up; ends by itself when all is deployed."""

    def __init__(
        self,
        lab: Lab,
        state: Callable[[], State | None],
        say: Callable[[str], None],
        *,
        broken: bool = False,
    ) -> None:
        super().__init__(name="director", daemon=True)
        self._lab, self._state, self._say = lab, state, say
        self._broken = broken
        self._ended = threading.Event()
        self.deployed = threading.Event()
        self.error: HeadwaterError | None = None

    def run(self) -> None:
        """Deploy the lab, and break it if that is wanted."""
        try:
            self._deploy()
        except HeadwaterError as error:
            if not self._ended.is_set():  # what fails while all goes down is no news
                self.error = error
        except _Ended:
            return

    def end(self) -> None:
        """Give up what is not done yet."""
        self._ended.set()

    def _deploy(self) -> None:
        state = self._healthy()
        worker = Connect(state.services["worker"].address)
        wanted = (*self._lab.connectors, *self._lab.batch)
        for name in sorted(known_connectors().intersection(worker.statuses()).difference(wanted)):
            worker.delete(name)
            self._say(f"{name} of another lab is deleted")
        for name in self._lab.connectors:
            worker.configure(name, connector(name))
            self._say(f"{name} is deployed")
        if self._lab.batch:
            self._wait(lambda: worker.position(self._lab.filled_by) > 0)
            self._say("the first orders are in the table")
        for name in self._lab.batch:
            worker.configure(name, connector(name))
            self._say(f"{name} runs")
        if self._broken:
            self._say(BREAKS["poison"].do(state, ""))
        self.deployed.set()

    def _healthy(self) -> State:
        found: list[State] = []

        def healthy() -> bool:
            state = self._state()
            found[:] = [state] if state is not None and state.healthy else []
            return bool(found)

        self._wait(healthy)
        return found[0]

    def _wait(self, holds: Callable[[], bool]) -> None:
        while not holds():
            if self._ended.wait(_POLL_S):
                raise _Ended


class _Ended(Exception):  # not an error: someone wants no more of it
    pass


class Verdict:
    """What is right so far, and whether more is to be hoped for."""

    def __init__(self, lab: Lab, state: State, limit_s: float) -> None:
        self._lab = lab
        self._server = state.services["server"].address
        self._kafka = state.services["kafka"].address
        self._worker = Connect(state.services["worker"].address)
        self._end = time.monotonic() + limit_s
        self._best, self._best_at = -1, time.monotonic()
        self.facts: list[Fact] = []
        self.reasons: dict[str, str] = {}

    @property
    def right(self) -> bool:
        """Whether every fact is so."""
        return bool(self.facts) and all(fact.right for fact in self.facts)

    def look(self) -> bool:
        """Look once; tell whether this is the last word."""
        try:
            with Client(self._server) as client:
                self.facts = check(client, self._lab.truth, self._kafka)
            statuses = self._worker.statuses()
        except (ServerUnreachable, RequestRefused, WorkerRefused):
            return time.monotonic() > self._end  # a service that comes back is asked again
        told = {name: traces(status) for name, status in statuses.items()}
        self.reasons = {name: found[0] for name, found in told.items() if found}
        now, count = time.monotonic(), sum(fact.right for fact in self.facts)
        if count != self._best:
            self._best, self._best_at = count, now
        hopeless = bool(self.reasons) and now - self._best_at > _HOPELESS_S
        return self.right or hopeless or now > self._end
