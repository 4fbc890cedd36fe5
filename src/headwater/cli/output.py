"""How the commands write: data on stdout, the rest on stderr, colours only for people."""

import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import IO

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

_ENDLESS = 1_000_000  # columns, where no name may be cut or folded
_STATES = {
    "RUNNING": ("●", "running", "cyan"),
    "COMPLETED": ("✓", "completed", "green"),
    "FAILED": ("✕", "failed", "bold red"),
    "ABORTED": ("■", "aborted", "yellow"),
    "NEW": ("○", "new", "dim"),
}
_UNKNOWN = ("○", "unknown", "dim")


def out() -> Console:
    """Where data goes."""
    return _console(sys.stdout)


def err() -> Console:
    """Where everything else goes."""
    return _console(sys.stderr)


def _console(file: IO[str]) -> Console:
    return Console(
        file=file,
        highlight=False,
        emoji=False,
        width=None if file.isatty() else _ENDLESS,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def note(text: str) -> None:
    """Tell a person something that is not data."""
    err().print(Text(text, style="dim"))


def write_json(value: object) -> None:
    """Write one JSON document."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def write_lines(lines: Iterable[bytes]) -> None:
    """Write JSON documents, one a line."""
    for line in lines:
        one = msgspec.json.format(line, indent=0) if b"\n" in line else line
        sys.stdout.write(one.decode() + "\n")


def write_table(columns: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> None:
    """Write rows under headings, aligned, one line each: a narrow terminal folds them itself."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console = out()
    for line in console.render_lines(table, console.options.update(width=_ENDLESS), pad=False):
        text = Text.assemble(*((part.text, part.style or "") for part in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def state_text(state: str | None) -> Text:
    """A state as a sign and a word."""
    sign, word, style = _STATES.get(state or "", _UNKNOWN)
    return Text(f"{sign} {word}", style=style)


def moment_text(moment: datetime | None) -> str:
    """A moment in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if moment else "-"


def duration_text(seconds: float) -> str:
    """A length of time in the two units that matter."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02d} h"
