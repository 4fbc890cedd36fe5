"""Sends events in the background, so that no backend ever makes a job wait.

`emit` masks secrets, writes to the spool and returns. One thread delivers in order through
openlineage-python; while the backend is away it waits longer and longer. An event that the backend
refuses, or that alone fails while others pass, is set aside. Whatever a transport raises stays in
that thread.
"""

import logging
import threading
import time
import uuid
from collections import deque
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

from headwater.capture.events import Event
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.refused import RefusedEvents
from headwater.capture.settings import Settings
from headwater.capture.spool import Spool, abandoned, open_spool
from headwater.openlineage.masking import Masker, mask_event, mask_text

log = logging.getLogger("headwater.capture")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
# With more than these waiting, as after an outage, delivery leaves the job half of the time.
_MANY = 100
# Answers that say nothing about the event: a key, an address or a limit has to change.
_NOT_ABOUT_THE_EVENT = frozenset({401, 403, 404, 405, 407, 408, 409, 421, 425, 429})
# Failures of one event after which another is tried, to see whose fault it is.
_TRIES = 3
_MEMORY_BYTES = 16_000_000  # of events that wait where no folder can be used


class Outcome(Enum):
    """What became of an event that was sent."""

    SENT = "sent"
    REFUSED = "refused"
    FAILED = "failed"


class _Waiting(NamedTuple):
    spool: Spool
    number: int
    event: Event


class Client(Protocol):
    """What delivers events."""

    def emit(self, event: Event) -> None:
        """Send one event, or raise."""


class Emitter:
    """Takes events from any thread and delivers them in order."""

    def __init__(self, settings: Settings, client: Client | None = None) -> None:
        self._settings = settings
        self._barrier = FaultBarrier()
        self._client = client
        self._masker = Masker()
        self._name = uuid.uuid4().hex
        self._spool = Spool(None, _MEMORY_BYTES)
        self._inherited: deque[Spool] = deque()
        self._refused = RefusedEvents(None)
        self._open(Path(settings.spool_dir), int(settings.spool_megabytes * 1_000_000))
        self._wake = threading.Condition()
        self._hurry = threading.Event()  # set when a pause after a failure should end
        self._closing = self._failing = self._unwritable = False
        self._failures = 0  # of the event that is next, one after the other
        self.sent = 0
        self._thread = threading.Thread(target=self._run, name="headwater-emitter", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many events are not delivered yet."""
        return len(self._spool) + sum(len(spool) for spool in [*self._inherited])

    @property
    def dropped(self) -> int:
        """How many events were given up for lack of room."""
        return self._spool.dropped

    @property
    def refused(self) -> int:
        """How many events were set aside."""
        return self._refused.count

    def emit(self, event: Event) -> None:
        """Add an event; never waits for the backend, and never raises."""
        self._barrier.run("an event", lambda: self._add(event))
        with self._wake:
            self._wake.notify()

    def flush(self, seconds: float) -> bool:
        """Wait until all is delivered; gives up after `seconds`, or when nothing gets through."""
        deadline = time.monotonic() + (min(seconds, 1.0) if self._failing else seconds)
        self._hurry.set()
        with self._wake:
            self._wake.notify()
        while self.waiting and time.monotonic() < deadline and self._thread.is_alive():
            time.sleep(0.02)
        return not self.waiting

    def close(self, seconds: float | None = None) -> None:
        """Deliver what can be delivered soon, and leave the rest in the spool."""
        self.flush(self._settings.flush_seconds if seconds is None else seconds)
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._hurry.set()
        self._thread.join(timeout=1.0)
        for spool in (*self._inherited, self._spool):
            spool.close()
        if self.refused or self.dropped:
            log.warning(
                "headwater: %d events were sent, %d were refused by the backend, %d had no room",
                self.sent,
                self.refused,
                self.dropped,
            )

    def _open(self, base: Path, limit: int) -> None:
        try:
            self._spool = open_spool(base, self._name, limit)
        except OSError as error:
            log.warning("headwater: %s cannot be used, events wait in memory: %s", base, error)
            return
        self._refused = RefusedEvents(base / "refused")
        self._barrier.run(
            "the spools of others",
            lambda: self._inherited.extend(abandoned(base, self._name, limit)),
        )

    def _add(self, event: Event) -> None:
        clean, _ = mask_event(self._masker, event)
        try:
            self._spool.put(clean)
            self._unwritable = False
        except OSError as error:
            if not self._unwritable:
                self._unwritable = True
                log.warning(
                    "headwater: the spool cannot be written, events wait in memory: %s", error
                )

    def _run(self) -> None:
        error = self._barrier.attempt(self._connect)
        if error is not None:
            self._complain(f"OpenLineage cannot be configured, events wait on disk: {error}")
        pause = _FIRST_PAUSE
        while not self._closing:
            head = self._next()
            if head is None:
                with self._wake:
                    if not self._closing and not len(self._spool):
                        self._wake.wait(timeout=5.0)
                continue
            began = time.monotonic()
            if self._handle(head):
                pause, self._failures = _FIRST_PAUSE, 0
                if self.waiting > _MANY:
                    self._hurry.wait(timeout=time.monotonic() - began)
            else:
                # News do not shorten it: a job that tells much would ask all the time.
                self._hurry.wait(timeout=pause)
                self._hurry.clear()
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _connect(self) -> None:
        if self._client is None:
            # A second or two to import, which the job should not wait for.
            from headwater.capture.client import OpenLineage  # noqa: PLC0415

            self._client = OpenLineage(self._settings)

    def _next(self) -> _Waiting | None:
        while self._inherited:
            spool = self._inherited[0]
            found = spool.oldest()
            if found is not None:
                return _Waiting(spool, *found)
            spool.close()
            self._inherited.popleft()
        found = self._spool.oldest()
        return _Waiting(self._spool, *found) if found is not None else None

    def _handle(self, head: _Waiting) -> bool:
        """Send the event that is next; False when it has to wait."""
        outcome, reason = self._deliver(head.event)
        if outcome is Outcome.FAILED:
            self._failures += 1
            return self._failures >= _TRIES and self._is_set_aside(head, reason)
        if outcome is Outcome.REFUSED:
            self._set_aside(head, reason)
        head.spool.done(head.number)
        return True

    def _is_set_aside(self, head: _Waiting, reason: str) -> bool:
        """Whether an event fails while another passes, and so is out of the way.

        An event of the same run is never delivered before it: then the first is given up.
        """
        spool, found = head.spool, head.spool.other(head.number)
        if found is None and head.spool is not self._spool:
            oldest = self._spool.oldest()
            spool, found = self._spool, (*oldest, True) if oldest is not None else None
        if found is None:
            return False
        number, event, is_of_another_run = found
        if self._deliver(event)[0] is not Outcome.SENT:
            return False
        spool.done(number)
        if is_of_another_run and self._deliver(head.event)[0] is Outcome.SENT:
            head.spool.done(head.number)
            return True
        self._set_aside(head, reason)
        head.spool.done(head.number)
        return True

    def _set_aside(self, waiting: _Waiting, reason: str) -> None:
        name = f"{self._name}-{self._refused.count:06d}"
        self._barrier.run("a refused event", lambda: self._refused.add(name, waiting.event, reason))

    def _deliver(self, event: Event) -> tuple[Outcome, str]:
        client = self._client
        if client is None:
            return Outcome.FAILED, "OpenLineage is not configured"
        error = self._barrier.attempt(lambda: client.emit(event))
        if error is None:
            self.sent += 1
            if self._failing:
                self._failing = False
                log.warning("headwater: the backend answers again")
            return Outcome.SENT, ""
        status = getattr(getattr(error, "response", None), "status_code", None) or 0
        if 400 <= status < 500 and status not in _NOT_ABOUT_THE_EVENT:
            return Outcome.REFUSED, str(error)
        self._complain(f"the backend is not reached, events wait on disk: {error}")
        return Outcome.FAILED, str(error)

    def _complain(self, reason: str) -> None:
        if not self._failing:
            self._failing = True
            log.warning("headwater: %s", mask_text(reason))
