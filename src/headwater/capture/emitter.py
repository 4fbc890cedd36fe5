"""Sends events in the background, so that no backend ever makes a job wait.

`emit` writes to the spool and returns. One thread delivers in order through
openlineage-python; while the backend is away it waits longer and longer. Whatever a
transport raises stays in that thread.
"""

import logging
import threading
import time
import uuid
from collections import deque
from pathlib import Path
from typing import Protocol

from headwater.capture.events import Event
from headwater.capture.guard import Guard
from headwater.capture.settings import Settings
from headwater.capture.spool import Spool, abandoned

log = logging.getLogger("headwater.capture")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
# With more than these waiting, as after an outage, delivery leaves the job half of the time.
_MANY = 100
# Answers after which the same event would be refused again.
_REFUSALS = frozenset({400, 404, 405, 413, 415, 422})


class Client(Protocol):
    """What delivers events."""

    def emit(self, event: Event) -> None:
        """Send one event, or raise."""


class Emitter:
    """Takes events from any thread and delivers them in order."""

    def __init__(self, settings: Settings, client: Client | None = None) -> None:
        self._settings = settings
        self._guard = Guard()
        self._client = client
        self._base, self._name = Path(settings.spool_dir), uuid.uuid4().hex
        self._limit = int(settings.spool_megabytes * 1_000_000)
        self._spool = Spool(self._base, self._name, self._limit)
        self._inherited: deque[Spool] = deque(abandoned(self._base, self._name, self._limit))
        self._wake = threading.Condition()
        self._hurry = threading.Event()  # set when a pause after a failure should end
        self._closing = self._failing = False
        self.sent = self.refused = 0
        self._thread = threading.Thread(target=self._run, name="headwater-emitter", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many events are not delivered yet."""
        return len(self._spool) + sum(len(spool) for spool in self._inherited)

    @property
    def dropped(self) -> int:
        """How many heartbeats were given up for lack of room."""
        return self._spool.dropped

    def emit(self, event: Event) -> None:
        """Add an event; never waits for the backend."""
        try:
            self._spool.put(event)
        except OSError as error:
            self._complain(f"the spool cannot be written, events wait in memory: {error}")
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

    def _run(self) -> None:
        self._guard.run("configuring OpenLineage", self._connect)
        pause = _FIRST_PAUSE
        while not self._closing:
            spool, number, event = self._next()
            if event is None:
                with self._wake:
                    if not self._closing and not len(self._spool):
                        self._wake.wait(timeout=5.0)
                continue
            began = time.monotonic()
            if self._deliver(event):
                pause = _FIRST_PAUSE
                spool.done(number)
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

    def _next(self) -> tuple[Spool, int, Event | None]:
        while self._inherited:
            spool = self._inherited[0]
            found = spool.oldest()
            if found is not None:
                return spool, *found
            spool.close()
            self._inherited.popleft()
        found = self._spool.oldest()
        return (self._spool, *found) if found is not None else (self._spool, -1, None)

    def _deliver(self, event: Event) -> bool:
        client = self._client
        if client is None:
            return False
        error = self._guard.attempt(lambda: client.emit(event))
        if error is None:
            self.sent += 1
            if self._failing:
                self._failing = False
                log.warning("headwater: the backend answers again")
            return True
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in _REFUSALS:
            self.refused += 1
            self._complain(f"the backend refused an event: {error}")
            return True
        self._complain(f"the backend is not reached, events wait on disk: {error}")
        return False

    def _complain(self, reason: str) -> None:
        if not self._failing:
            self._failing = True
            log.warning("headwater: %s", reason)
