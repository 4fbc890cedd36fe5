"""How `headwater up` runs: in the foreground with a live table, or detached; and the fetch."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.text import Text

from headwater.cli.stack_view import status_table
from headwater.errors import AlreadyUp, HeadwaterError, ServiceFailed, UsageError
from headwater.stack import lock, plan, state
from headwater.stack.catalog import SERVICES
from headwater.stack.fetch import JarCache
from headwater.stack.fetch import Progress as FetchProgress
from headwater.stack.java import java_home
from headwater.stack.service import Service
from headwater.stack.settings import Settings
from headwater.stack.spark import OFFICIAL_SETS, SPARK_SETS
from headwater.stack.state import ServiceState
from headwater.stack.supervisor import Supervisor, owner

_err = Console(stderr=True, highlight=False, soft_wrap=True)
_DETACH_LIMIT_S = 300.0
_HINT = Text(
    "\nCtrl-C stops everything. In another terminal: headwater env | status | logs", style="dim"
)
_POLL_S = 0.2
_AHEAD = (
    "`headwater fetch` fills the cache in advance; behind a mirror, set HEADWATER_IVY_SETTINGS "
    "to an Ivy settings file"
)


class Request(msgspec.Struct, frozen=True):
    """What `up` was asked for."""

    services: tuple[Service, ...]
    ports: Mapping[str, int]
    free_ports: bool = False


def foreground(request: Request, settings: Settings) -> None:
    """Run the platform until a signal ends it."""
    began = time.monotonic()
    if _err.is_terminal:
        supervised(request, settings, _watch_live, lambda _: None)
    else:
        supervised(request, settings, lambda one: _watch_plain(one, began), say_change)


def detached(request: Request, settings: Settings) -> None:
    """Start the platform in a process of its own, and return when all of it is healthy."""
    holder = owner(settings.home)
    if holder is not None:
        raise AlreadyUp(str(settings.home), holder.number)
    fetch_for(request.services, settings)
    log = settings.home / "logs" / "supervisor.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "headwater.cli.main", "up", *_arguments(request)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "HEADWATER_HOME": str(settings.home), "NO_COLOR": "1"},
        )
    try:
        _await_healthy(child, settings, log)
    except BaseException:
        child.terminate()
        raise


def fetch(settings: Settings, names: tuple[str, ...]) -> None:
    """Fetch and verify the jars of some services, or of all."""
    sets = _sets_of(names)
    cache = JarCache(settings.cache, ivy_settings=settings.ivy_settings)
    jars = lock.load().jars(sets)
    with shown_progress() as progress:
        java = java_home(settings) / "bin" / "java"
        damaged = cache.ensure(jars, java, verify=True, progress=progress)
    for name in damaged:
        _err.print(f"{name} was damaged and was downloaded again")
    size = sum(jar.size for jar in jars) / 1e6
    _err.print(f"{len(jars)} files, {size:.0f} MB, verified in {cache.root}")


def fetch_for(services: tuple[Service, ...], settings: Settings) -> None:
    """Fetch what services lack, with a progress bar."""
    cache = JarCache(settings.cache, ivy_settings=settings.ivy_settings)
    jars = lock.load().jars(plan.jar_sets(services))
    if announce(services, settings):
        with shown_progress() as progress:
            cache.ensure(jars, java_home(settings) / "bin" / "java", progress=progress)


def announce(services: tuple[Service, ...], settings: Settings) -> bool:
    """Say what will be fetched, from where and to where; tell whether anything will be."""
    missing = JarCache(settings.cache).missing(lock.load().jars(plan.jar_sets(services)))
    if missing:
        size = sum(jar.size for jar in missing) / 1e6
        given = settings.ivy_settings
        source = f"the repository of {given}" if given else "the public Maven repository"
        _err.print(f"{size:.0f} MB of jars are missing and will be downloaded from {source}")
        _err.print(f"  into the cache {settings.cache} (HEADWATER_CACHE)", style="dim")
        _err.print(f"  {_AHEAD}", style="dim")
    return bool(missing)


@contextmanager
def shown_progress() -> Iterator[FetchProgress]:
    """A bar on a terminal, a line every tenth elsewhere; nothing when nothing is fetched."""
    if not _err.is_terminal:
        yield _plain_progress()
        return
    columns = (TextColumn("fetching jars"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=_err, transient=True) as bar:
        task = bar.add_task("fetch", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


def supervised(
    request: Request,
    settings: Settings,
    watch: Callable[[Supervisor], None],
    listener: Callable[[ServiceState], None],
) -> None:
    """Run the platform as long as `watch` does, and end all of it then, or at a signal."""
    supervisor = Supervisor(settings.home)

    def stop(*_: object) -> None:
        supervisor.stop()
        if supervisor.state is None:
            # Nothing runs yet: whatever is being fetched or checked is broken off.
            raise KeyboardInterrupt

    # A closed terminal is a way to say stop, like Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        announce(request.services, settings)
        with shown_progress() as progress:
            layout = plan.make(
                request.services,
                settings,
                asked_ports=request.ports,
                free_ports=request.free_ports,
                progress=progress,
            )
        supervisor.start(request.services, layout, listener)
        watch(supervisor)
    finally:
        supervisor.close()


def _await_healthy(child: "subprocess.Popen[bytes]", settings: Settings, log: Path) -> None:
    seen: dict[str, str] = {}
    limit = time.monotonic() + _DETACH_LIMIT_S
    while time.monotonic() < limit:
        if child.poll() is not None:
            raise _told_error(log.read_text())
        now = state.read(settings.home)
        if now is not None and now.supervisor.number == child.pid:
            _say_changes(now, seen)
            if now.healthy:
                return
        time.sleep(_POLL_S)
    late = ", ".join(name for name, status in seen.items() if status != "healthy")
    raise ServiceFailed(late, f"not healthy after {_DETACH_LIMIT_S:.0f} s", str(log))


def _sets_of(names: tuple[str, ...]) -> list[str]:
    usual = {name: service.sets for name, service in SERVICES.items()} | {"spark": SPARK_SETS}
    known = usual | {"official": OFFICIAL_SETS}
    for name in names:
        if name not in known:
            raise UsageError(f"{name!r} has no jars", hint=f"Choose from: {', '.join(known)}")
    return [one for name in names or usual for one in known[name]]


def _watch_live(supervisor: Supervisor) -> None:
    with Live(console=_err, refresh_per_second=4, transient=False) as live:
        while supervisor.wait():
            if supervisor.state is not None:
                live.update(Group(status_table(supervisor.state), _HINT))
        live.stop()
        _err.print("stopping …")


def _watch_plain(supervisor: Supervisor, began: float) -> None:
    told = False
    while supervisor.wait():
        if not told and supervisor.state is not None and supervisor.state.healthy:
            told = True
            _err.print(f"all healthy after {time.monotonic() - began:.1f} s")


def say_change(service: ServiceState) -> None:
    """One plain line for one change."""
    address = f" at {service.address}" if service.status == "healthy" else ""
    took = f" after {service.ready_after_s} s" if service.status == "healthy" else ""
    reason = f": {service.reason}" if service.reason else ""
    _err.print(f"{service.name:10} {service.status}{address}{took}{reason}", markup=False)


def _say_changes(now: state.State, seen: dict[str, str]) -> None:
    for service in now.services.values():
        if seen.get(service.name) != service.status:
            seen[service.name] = service.status
            if service.status != "waiting":
                say_change(service)


def _told_error(log: str) -> HeadwaterError:
    """The error that a detached supervisor printed, to be printed again here."""
    _, found, told = log.rpartition("error: ")
    if not found:
        return HeadwaterError("the platform was stopped before it was healthy")
    message, _, hint = told.partition("\n")
    return HeadwaterError(message.strip(), hint=hint.strip())


def _arguments(request: Request) -> list[str]:
    arguments = ["--only", ",".join(service.name for service in request.services)]
    for name, port in request.ports.items():
        arguments += [f"--{name}-port", str(port)]
    return [*arguments, "--free-ports"] if request.free_ports else arguments


def _plain_progress() -> FetchProgress:
    tenth = -1

    def tell(done: int, total: int) -> None:
        nonlocal tenth
        if total and done * 10 // total != tenth:
            tenth = done * 10 // total
            _err.print(f"fetching jars: {done / 1e6:.0f} of {total / 1e6:.0f} MB")

    return tell
