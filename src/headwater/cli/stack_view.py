"""How the local platform looks on a terminal and as JSON."""

import shlex
from collections.abc import Mapping, Sequence

import msgspec
from rich.table import Table
from rich.text import Text

from headwater.stack.doctor import Finding
from headwater.stack.process import Pid, uptime_s
from headwater.stack.state import ServiceState, State

_COLOURS = {
    "healthy": "green",
    "ok": "green",
    "starting": "yellow",
    "waiting": "dim",
    "unresponsive": "yellow",
    "restarting": "yellow",
    "warning": "yellow",
    "stopping": "dim",
    "failed": "red",
    "missing": "red",
}


def status_table(state: State) -> Table:
    """The services of a platform, one a line."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("SERVICE", "STATUS", "ADDRESS"):
        table.add_column(name, no_wrap=True)
    for name in ("PID", "MEMORY", "UPTIME", "RESTARTS"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="ellipsis", no_wrap=True, style="dim")
    for service in state.services.values():
        memory, uptime = _measure(service.pid)
        table.add_row(
            service.name,
            _coloured(service.status),
            service.address,
            str(service.pid.number) if service.pid else "-",
            f"{memory / 2**20:.0f} MB" if memory else "-",
            _duration(uptime) if uptime is not None else "-",
            str(service.restarts),
            service.reason,
        )
    return table


def status_json(state: State) -> str:
    """The services of a platform, for programs."""
    services = [_facts(service) for service in state.services.values()]
    document = {
        "home": str(state.home),
        "supervisor": state.supervisor.number,
        "healthy": state.healthy,
        "services": services,
    }
    return _json(document)


def findings_table(findings: Sequence[Finding]) -> Table:
    """What the doctor found, with what to do where something is missing."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("CHECK", no_wrap=True)
    table.add_column("RESULT", no_wrap=True)
    table.add_column("")
    for finding in findings:
        text = Text(finding.fact)
        if finding.hint:
            text.append(f"\n{finding.hint}", style="dim")
        table.add_row(finding.check, _coloured(finding.level), text)
    return table


def findings_json(findings: Sequence[Finding]) -> str:
    """What the doctor found, for programs."""
    return _json([msgspec.structs.asdict(finding) for finding in findings])


def pairs(values: Mapping[str, str], *, as_json: bool, shell: bool) -> str:
    """Names and values: as JSON, as shell exports, or as lines of Spark's properties file."""
    if as_json:
        return _json(values)
    if shell:
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in values.items())
    return "\n".join(f"{name} {value}" for name, value in values.items())


def _facts(service: ServiceState) -> dict[str, object]:
    memory, uptime = _measure(service.pid)
    return {
        "name": service.name,
        "title": service.title,
        "status": service.status,
        "address": service.address,
        "port": service.port,
        "pid": service.pid.number if service.pid else None,
        "memory_bytes": memory,
        "uptime_s": None if uptime is None else round(uptime, 1),
        "restarts": service.restarts,
        "ready_after_s": service.ready_after_s,
        "reason": service.reason,
        "log": service.log,
    }


def _measure(pid: Pid | None) -> tuple[int | None, float | None]:
    """Memory and uptime, of a process that is still the one that was started."""
    process = pid.process() if pid else None
    if pid is None or process is None:
        return None, None
    return process.memory_info().rss, uptime_s(pid)


def _duration(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minute:02}m"
    return f"{minute}m{second:02}s" if minute else f"{second}s"


def _coloured(word: str) -> Text:
    return Text(word, style=_COLOURS.get(word, ""))


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()
