"""Where runners write what they see of their services; the state file and the screen follow."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.errors import HeadwaterError
from headwater.stack import state
from headwater.stack.state import ServiceState, State

Listener = Callable[[ServiceState], None]


class PlatformStateWriter:
    """The state of one platform, changed by many threads and written at each change."""

    def __init__(self, first: State, listener: Listener) -> None:
        self._state = first
        self._listener = listener
        self._lock = threading.Lock()
        self.changed = threading.Event()
        self.failure: HeadwaterError | None = None
        state.write(first)

    @property
    def state(self) -> State:
        """The state now."""
        return self._state

    def update(self, name: str, **changes: Any) -> None:
        """Change what is known of one service."""
        with self._lock:
            old = self._state.services[name]
            new = msgspec.structs.replace(old, **changes)
            services = {**self._state.services, name: new}
            self._state = msgspec.structs.replace(self._state, services=services)
            # Services go on while the disk is full; the file is right again at the next change.
            with contextlib.suppress(OSError):
                state.write(self._state)
            if new.status != old.status:
                self._listener(new)
        self.changed.set()

    def fail(self, name: str, error: HeadwaterError) -> None:
        """Say that a service cannot come up; the first one to say so is told to the user."""
        self.failure = self.failure or error
        self.update(name, status="failed", reason=error.message, pid=None)
