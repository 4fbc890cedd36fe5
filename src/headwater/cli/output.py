r"""How the commands write: data on stdout, the rest on stderr, colours only for people.

Names come from whoever sends events. A control character in one is written as an escape
(`\x1b`), so that no name can steer the terminal or pretend to be another line.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import IO

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
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
# Control characters of terminals, and those that turn the direction of what follows.
_RANGES = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_RANGES}]")
_ONE_LINE = re.compile(f"[\\t\\n{_RANGES}]")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r"}
_ESCAPE = re.compile(r"\\(?:[ntr]|x(?P<two>[0-9a-f]{2})|u(?P<four>[0-9a-f]{4}))")


def out() -> Console:
    """Where data goes."""
    return _console(sys.stdout)


def err() -> Console:
    """Where everything else goes."""
    return _console(sys.stderr)


class _SafeConsole(Console):
    """A console that writes the control characters of texts as escapes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The parts of what is written; styles and cursor movements are rich's own."""
        for part in super().render(renderable, options):
            if part.control or not _CONTROL.search(part.text):
                yield part
            else:
                yield Segment(visible(part.text), part.style)


def visible(text: str) -> str:
    """A text of one or more lines with its control characters as escapes."""
    return _CONTROL.sub(_escape, text)


def escaped(text: str) -> str:
    """A text in one line, with its control characters as escapes."""
    return _ONE_LINE.sub(_escape, text)


def unescaped(text: str) -> str:
    """The name that was written as `escaped` writes it."""

    def character(found: re.Match[str]) -> str:
        return _ESCAPES.get(found[0]) or chr(int(found["two"] or found["four"], 16))

    return _ESCAPE.sub(character, text)


def one_line(text: Text) -> Text:
    """A styled text in one line, with its control characters as escapes."""
    cuts = sorted({end for found in _ONE_LINE.finditer(text.plain) for end in found.span()})
    line = text.blank_copy()
    for part in text.divide(cuts):
        line.append_text(Text(escaped(part.plain)) if _ONE_LINE.search(part.plain) else part)
    return line


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    for escape, character in _ESCAPES.items():
        if character == found[0]:
            return escape
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def _console(file: IO[str]) -> Console:
    return _SafeConsole(
        file=file,
        highlight=False,
        emoji=False,
        width=None if file.isatty() else _ENDLESS,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def note(text: str) -> None:
    """Tell a person something that is not data."""
    err().print(Text(escaped(text), style="dim"), soft_wrap=True)


def write_line(text: Text) -> None:
    """Write one line of data; a narrow terminal folds it itself."""
    out().print(one_line(text), soft_wrap=True)


def write_text(text: str) -> None:
    """Write a text of several lines as it is."""
    sys.stdout.write(visible(text))


def json_text(value: object, *, indent: int = 0) -> str:
    """A value as JSON that a terminal shows as it is; it stays the same value."""
    return _json_visible(msgspec.json.format(msgspec.json.encode(value), indent=indent).decode())


def _json_visible(text: str) -> str:
    # JSON has escapes of its own for what is below a space.
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_json(value: object) -> None:
    """Write one JSON document."""
    sys.stdout.write(json_text(value, indent=2) + "\n")


def write_lines(lines: Iterable[bytes]) -> None:
    """Write JSON documents, one a line."""
    for line in lines:
        one = msgspec.json.format(line, indent=0) if b"\n" in line else line
        sys.stdout.write(_json_visible(one.decode()) + "\n")


def write_table(columns: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> None:
    """Write rows under headings, aligned, one line each: a narrow terminal folds them itself."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=True)
    for row in rows:
        cells = (Text(escaped(cell)) if isinstance(cell, str) else one_line(cell) for cell in row)
        table.add_row(*cells)
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
    if moment is None:
        return "-"
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")


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
