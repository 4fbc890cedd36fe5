"""Writes docs/reference from the code: the command line's help, and the connectors' keys.

python tools/reference.py            write the pages
python tools/reference.py --check    fail if one is not what the code says
"""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from headwater.pipeline.config import CLASSES
from headwater.pipeline.keys import SCHEMAS, ConfigKey, Kind, Type

_FOLDER = Path(__file__).parent.parent / "docs" / "reference"
_COMMAND = ["-m", "typer", "headwater.cli.main", "utils", "docs", "--name", "headwater"]
_HELP = "* `--help`: Show this message and exit."
_STYLED = re.compile(r"^\[[a-z ]+\].*\n?", re.MULTILINE)


_KEYS = """# Connector keys

Every key that a connector's configuration can have, by class. Capitals stand for any name, `*` for
the rest of a key. A key that is not listed has no effect, and the connector's log names it. A
missing or wrong value is an error before anything starts. `GET /connector-plugins/CLASS/config` of
the worker returns the same list.
"""
_TITLES = {
    Kind.GENERATOR: "Generator",
    Kind.S3_SINK: "S3 sink",
    Kind.ICEBERG_SINK: "Iceberg sink",
    Kind.JOB: "Job",
}


def command_line() -> str:
    """The page of all commands."""
    done = subprocess.run(
        [sys.executable, *_COMMAND, "--title", "Command line"],
        capture_output=True, text=True, check=True, env={"COLUMNS": "100", "PYTHONUTF8": "1"},
    )  # fmt: skip
    text = html.unescape(_STYLED.sub("", done.stdout)).replace(_HELP, "")
    text = text.replace("**Options**:\n\n\n", "").replace("$ headwater", "headwater")
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def connector_keys() -> str:
    """The page of all keys of connectors."""
    return "\n".join([_KEYS, *(line for kind in Kind for line in _class(kind))])


def _class(kind: Kind) -> Iterator[str]:
    names = ", ".join(f"`{name}`" for name, found in CLASSES.items() if found is kind)
    yield f"## {_TITLES[kind]}\n\n`connector.class`: {names}\n"
    yield "| Key | Type | Default | Meaning |\n|---|---|---|---|"
    yield from map(_row, SCHEMAS[kind])
    yield ""


def _row(key: ConfigKey) -> str:
    default = "required" if key.required else f"`{key.default}`" if key.default else ""
    number = key.type in (Type.INT, Type.LONG) and key.least
    notes = [f"At least {key.least}."] if number else []
    if key.choices:
        notes.append(f"One of {', '.join(f'`{one}`' for one in key.choices)}.")
    meaning = " ".join([key.doc, *notes])
    return f"| `{key.name}` | {key.type.value} | {default} | {meaning} |"


_PAGES = {"cli.md": command_line, "connector-keys.md": connector_keys}


def main() -> None:
    """Write the pages, or check them."""
    for name, made in _PAGES.items():
        path, text = _FOLDER / name, made()
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/reference/{name} is not what the code says: run `make docs`")


if __name__ == "__main__":
    main()
