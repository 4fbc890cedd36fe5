"""What waits for the writer, and how those who gave it are told that it is done."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from headwater.openlineage.events import Event
from headwater.server.store.commit import Commit


class Waiter(NamedTuple):
    """A coroutine that waits; those of one commit are woken together."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class Task(NamedTuple):
    """A piece of work for a commit; `events` are those that it stores."""

    work: Callable[[Commit], Any]
    done: "Future[Any] | Waiter"
    events: list[Event]


_Ended = tuple[Task, Any, Exception | None]


def finish(ended: list[_Ended]) -> None:
    """Tell everyone who waits, each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Ended]] = {}
    for one in ended:
        task, result, error = one
        if isinstance(task.done, Waiter):
            by_loop.setdefault(task.done.loop, []).append(one)
        elif not task.done.set_running_or_notify_cancel():
            continue  # nobody waits any more
        elif error is not None:
            task.done.set_exception(error)
        else:
            task.done.set_result(result)
    for loop, some in by_loop.items():
        with contextlib.suppress(RuntimeError):  # a loop that is closed waits no more
            loop.call_soon_threadsafe(_wake, some)


def _wake(ended: list[_Ended]) -> None:
    for task, result, error in ended:
        future = task.done.future if isinstance(task.done, Waiter) else None
        if future is None or future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
