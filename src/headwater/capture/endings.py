"""Notices how a Python driver ends: signals, exceptions, `sys.exit`, the plain end of a script.

Handlers that were there before are kept and called; the process ends as it would have.
"""

import atexit
import builtins
import contextlib
import dis
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, ModuleType, TracebackType
from typing import Any, NoReturn, Protocol

from headwater.capture.stand_ins import StandIn, StandInAt

_EXITS = ((sys, "exit"), (builtins, "exit"), (builtins, "quit"))
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Ending(Protocol):
    """What is told about the driver's end."""

    def interrupted(self, by: str) -> None:
        """A signal asks the process to end; it may or may not obey."""

    def failed(self, error: BaseException | None) -> None:
        """An exception is about to end the main thread; with None, one before it did not."""

    def over(self, *, in_handler: bool = False) -> None:
        """The process ends now; in a signal's handler nobody may talk to the JVM."""


class Endings:
    """Installs the handlers, and takes them out again."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self._previous: dict[signal.Signals, Any] = {}
        self._handlers: dict[signal.Signals, StandIn] = {}
        self._excepthook = sys.excepthook
        self._stand_ins = [StandInAt(sys, "excepthook", self._uncaught)]
        self._stand_ins += [_Exit(self._exiting, *place) for place in _EXITS if hasattr(*place)]
        self._exited_in: FrameType | None = None
        self._uncaught_interrupt = False
        atexit.register(self._over)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                previous = signal.getsignal(number)
                # What is ignored, as SIGHUP under nohup, or not Python's, is left alone.
                if previous not in (signal.SIG_IGN, None):
                    handler = StandIn(previous, self._signalled)
                    self._handlers[number] = handler
                    self._previous[number] = signal.signal(number, handler)

    def remove(self) -> None:
        """Put back what was there before."""
        atexit.unregister(self._over)
        for one in self._stand_ins:
            one.remove()
        if threading.current_thread() is threading.main_thread():
            for number, previous in self._previous.items():
                if signal.getsignal(number) is self._handlers[number]:
                    signal.signal(number, previous)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        self._ending.interrupted(name)
        previous = self._previous.get(signal.Signals(number))
        if callable(previous):
            handler: Callable[[int, FrameType | None], Any] = previous
            handler(number, frame)
        else:
            self._ending.over(in_handler=True)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _uncaught(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self._exited_in = None
        # After an interrupted statement, an interactive shell goes on.
        self._uncaught_interrupt = kind is KeyboardInterrupt and not hasattr(sys, "ps1")
        self._ending.failed(error)
        self._excepthook(kind, error, trace)

    def _exiting(self, end: SystemExit) -> None:
        """Note the code; whether the process ends with it is not known yet."""
        self._exited_in = _outermost()
        self._ending.failed(None if end.code in (None, 0) else end)

    def _over(self) -> None:
        if self._exited_in is not None and _has_returned(self._exited_in):
            self._ending.failed(None)  # the script caught the exit, and has come to its end
        self._ending.over()
        if self._uncaught_interrupt:
            _note_interrupt()


class _Exit(StandInAt):
    """What stands for `sys.exit` and the like: at exit, Python tells nobody the code."""

    def __init__(self, exiting: Callable[[SystemExit], None], owner: ModuleType, name: str) -> None:
        self._exiting = exiting
        super().__init__(owner, name, self._exit)

    def _exit(self, status: Any = None, /) -> NoReturn:
        """Note the code, and exit."""
        if threading.current_thread() is threading.main_thread():
            end = SystemExit(status)
            end.__context__ = sys.exc_info()[1]
            self._exiting(end)
        self._original(status)
        raise SystemExit(status)  # as all of them do


def _note_interrupt() -> None:
    """Have Python end the process by SIGINT, as it does after an uncaught KeyboardInterrupt.

    Python forgets that there was one as soon as a string is executed. Some modules do that
    when they are imported, and a thread that delivers events may import them at any moment.
    """
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102


def _outermost() -> FrameType:
    """The frame of the script itself, which is the last one to end."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _has_returned(frame: FrameType) -> bool:
    """Whether a frame that is over has come to its end, and was not left by an exception."""
    last = dis.opname[frame.f_code.co_code[frame.f_lasti]] if frame.f_lasti >= 0 else ""
    return last.startswith("RETURN")
