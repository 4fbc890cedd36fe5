"""The threads of an application: they can be ended, and reach Spark no more once they are.

An application runs in a thread of its own, so that it can be left behind whatever it does. What it
leaves running must not write later, when Spark's own writers are back in their places: calls into
the JVM from its threads end these threads, for as long as the process lives.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import thread as executors
from contextlib import redirect_stdout, suppress
from typing import Any
from weakref import WeakSet

from py4j.java_gateway import JavaClass, JavaMember
from pyspark.util import InheritableThread

_POLL = 0.1  # seconds between two looks at the limit
_AGAIN = 0.002  # seconds between two attempts to end a thread
_GRACE = 5.0  # seconds of such attempts


class Enough(SystemExit):
    """Ends an application, or a thread of it; no `except Exception` keeps it."""


class ApplicationThreads:
    """The thread of an application, and all that this starts."""

    def __init__(self) -> None:
        """Follow threads from now on: before anything else is put in place of calls."""
        self.has_ended = False
        self.error: BaseException | None = None  # that ended the application's own thread
        self._kept: dict[threading.Thread, None] = {}  # those that a process would wait for
        self._all: WeakSet[threading.Thread] = WeakSet()
        _install()

    def run(self, work: Callable[[], None], remaining: Callable[[], float]) -> bool:
        """Run the application for at most the `remaining` seconds; whether it ended by itself."""
        main = InheritableThread(lambda: self._main(work))
        main.daemon = True
        self._own(main)
        with redirect_stdout(sys.stderr):  # what it prints is not the answer
            try:
                main.start()
                self._wait(main, remaining)
            finally:
                self.has_ended = True
            is_done = not self._running(main)
            self._end(main)
        if any(one.is_alive() for one in self._all):
            _keep_from_answer()
        return is_done

    def _main(self, work: Callable[[], None]) -> None:
        threading.current_thread()._daemonic = False  # type: ignore[attr-defined]
        with suppress(Enough):  # one more may be raised while the first is handled
            try:
                work()
            except BaseException as error:
                self.error = error

    def add(self, thread: threading.Thread) -> None:
        """Count a thread that the application is about to start among its own."""
        is_worker = getattr(thread, "_target", None) is executors._worker
        if not (thread.daemon or is_worker):
            self._kept[thread] = None
        run, is_daemon = thread.run, thread.daemon

        def run_as_it_was() -> None:
            thread._daemonic = is_daemon  # type: ignore[attr-defined]
            with suppress(Enough):
                run()

        # The process ends without it. What it starts is a daemon only if it was to be one itself.
        thread.daemon, thread.run = True, run_as_it_was  # type: ignore[method-assign]
        self._own(thread)

    def _own(self, thread: threading.Thread) -> None:
        # The thread has it, and no list does: frames of the application, which its error leads to,
        # are freed with it.
        thread._headwater_owner = self  # type: ignore[attr-defined]
        self._all.add(thread)

    @property
    def is_alone(self) -> bool:
        """Whether the application has only one thread."""
        return sum(one.is_alive() for one in self._all) == 1

    def _wait(self, main: threading.Thread, remaining: Callable[[], float]) -> None:
        while (running := self._running(main)) and (left := remaining()) > 0:
            running[0].join(min(left, _POLL))

    def _running(self, main: threading.Thread) -> list[threading.Thread]:
        """The threads that a process of the application would wait for now."""
        threads = [main] if isinstance(self.error, Enough) else [main, *self._kept]
        return [one for one in threads if one.is_alive()]

    def _end(self, main: threading.Thread) -> None:
        """End the application's own thread, if that can be done; others end at their next call."""
        until = time.monotonic() + _GRACE
        while main.is_alive() and self.error is None and time.monotonic() < until:
            # Again and again: `except:` may swallow it, and then it is raised in that block.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(main.ident or 0), ctypes.py_object(Enough)
            )
            main.join(_AGAIN)
        if self.error is not None:
            main.join(_GRACE)
        for thread in self._all:  # a process waits for the workers of executors, daemons or not
            executors._threads_queues.pop(thread, None)  # type: ignore[attr-defined]


def owner_of_thread() -> ApplicationThreads | None:
    """The application that this thread belongs to."""
    return getattr(threading.current_thread(), "_headwater_owner", None)


_INSTALLED: list[bool] = []


def _install() -> None:
    """Follow what applications start and call, from now on."""
    if _INSTALLED:
        return
    _INSTALLED.append(True)
    start = threading.Thread.start

    def started(thread: threading.Thread) -> None:
        owner = owner_of_thread()
        if owner is not None:
            owner.add(thread)
        start(thread)

    threading.Thread.start = started  # type: ignore[method-assign,assignment]
    for kind in (JavaMember, JavaClass):
        kind.__call__ = _ended_or(kind.__call__)


def _ended_or(call: Callable[..., Any]) -> Callable[..., Any]:
    def checked(target: Any, *given: Any) -> Any:
        owner = owner_of_thread()
        if owner is not None and owner.has_ended:
            raise Enough
        return call(target, *given)

    return checked


class _Answer:
    """Standard output without what ended applications print."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        owner = owner_of_thread()
        return getattr(sys.stderr if owner is not None and owner.has_ended else self._stream, name)


def _keep_from_answer() -> None:
    if not isinstance(sys.stdout, _Answer):
        sys.stdout = _Answer(sys.stdout)
