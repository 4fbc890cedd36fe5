"""The code blocks of README and docs, and the comment above each that says where it runs."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if "adr" not in page.parts and page.name != "cli.md"  # decisions; generated from the code
    ),
]
SHELL = ("sh", "console")
ENVIRONMENTS = ("alone", "server", "lab", "platform", "platform server")
_FENCE = re.compile(r"^```(\w*)$")
_MARKER = re.compile(r"^<!-- (?:run: (?P<run>[a-z ]+)(?:, after: (?P<after>.+))?|not run: .+) -->$")
_TYPED = re.compile(r"headwater [a-z][^|;)]*")
_INLINE = re.compile(r"`(headwater [a-z][^`]*)`")


class Command(NamedTuple):
    """One command of a block, and the output that the block shows for it."""

    text: str
    output: str


class Block(NamedTuple):
    """A fenced block of code."""

    page: Path
    line: int
    language: str
    text: str
    marker: str

    @property
    def place(self) -> str:
        """The page and line, for messages and test ids."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def environment(self) -> str:
        """Where the block runs; empty if it does not."""
        found = _MARKER.match(self.marker)
        return (found["run"] or "") if found else ""

    @property
    def after(self) -> str:
        """What must be true before the block runs."""
        found = _MARKER.match(self.marker)
        return (found["after"] or "") if found else ""

    @property
    def is_marked(self) -> bool:
        """Whether the block says where it runs, or why it does not."""
        known = not self.environment or self.environment in ENVIRONMENTS
        return bool(_MARKER.match(self.marker)) and known

    def commands(self) -> list[Command]:
        """The commands, each on one line."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "sh":
            return [Command(line, "") for line in lines if line and not line.startswith("#")]
        parts = "\n".join(lines).split("$ ")[1:]
        return [Command(*part.rstrip().partition("\n")[::2]) for part in parts]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    lines = page.read_text().splitlines()
    start, language = -1, ""
    for number, line in enumerate(lines):
        if not (fence := _FENCE.match(line)):
            continue
        if start < 0:
            start, language = number, fence[1]
            continue
        marker = next((above for above in reversed(lines[:start]) if above), "")
        yield Block(page, start + 1, language, "\n".join(lines[start + 1 : number]), marker)
        start = -1


def indented_code(page: Path) -> list[int]:
    """The lines of a page that Markdown shows as code because they are indented."""
    found, fenced, above = [], False, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced ^= bool(_FENCE.match(line))
        if not fenced and line.startswith("    ") and not above:
            found.append(number)
        above = line.strip()
    return found


def shell_blocks(*environments: str) -> list[Block]:
    """All blocks of shell commands, or those that run in one of the given environments."""
    return [
        block
        for page in PAGES
        for block in blocks(page)
        if block.language in SHELL and (not environments or block.environment in environments)
    ]


def headwater_lines() -> Iterator[tuple[str, list[str]]]:
    """Every `headwater …` of the pages, in blocks and in running text: its place, its words."""
    for block in shell_blocks():
        for command in block.commands():
            for text in _TYPED.findall(command.text):
                yield block.place, _words(text)
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for text in _INLINE.findall(line):
                yield f"{page.relative_to(ROOT)}:{number}", _words(text)


def _words(text: str) -> list[str]:
    """The arguments of a command; what a synopsis puts in brackets counts as given."""
    text = re.sub(r"(?<!\S)…|[\[\])]|&$", " ", text.replace("…]", "]"))
    return shlex.split(text, comments=True)[1:]
