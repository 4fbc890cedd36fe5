"""Writes docs/reference/cli.md from the command line's own help.

python tools/reference.py            write it
python tools/reference.py --check    fail if it is not what the code says
"""

import html
import re
import subprocess
import sys
from pathlib import Path

_PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
_COMMAND = ["-m", "typer", "headwater.cli.main", "utils", "docs", "--name", "headwater"]
_HELP = "* `--help`: Show this message and exit."
_STYLED = re.compile(r"^\[[a-z ]+\].*\n?", re.MULTILINE)


def page() -> str:
    """The page, as the code says it now."""
    done = subprocess.run(
        [sys.executable, *_COMMAND, "--title", "Command line"],
        capture_output=True, text=True, check=True, env={"COLUMNS": "100", "PYTHONUTF8": "1"},
    )  # fmt: skip
    text = html.unescape(_STYLED.sub("", done.stdout)).replace(_HELP, "")
    text = text.replace("**Options**:\n\n\n", "").replace("$ headwater", "headwater")
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def main() -> None:
    """Write the page, or check it."""
    text = page()
    if "--check" not in sys.argv:
        _PAGE.parent.mkdir(parents=True, exist_ok=True)
        _PAGE.write_text(text, encoding="utf-8")
    elif not _PAGE.exists() or _PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/reference/cli.md is not what the code says: run `make docs`")


if __name__ == "__main__":
    main()
