"""The code runs on the first Python 3.11, and not only on the latest."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SOURCES = [
    path
    for folder in ("src", "tests", "tools", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
# Arguments that came with a patch release, which neither mypy nor ruff knows: the filters of
# tarfile with 3.11.4, the strict parsing of addresses with 3.11.10.
LATER = {
    ("extractall", "filter"),
    ("extract", "filter"),
    ("unpack_archive", "filter"),
    ("getaddresses", "strict"),
    ("parseaddr", "strict"),
}


def test_the_oldest_python_is_what_types_are_checked_for() -> None:
    """A name that came with 3.12 is then an error, whichever Python runs the check."""
    oldest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert PYPROJECT["tool"]["mypy"]["python_version"] == oldest


def test_no_argument_is_newer_than_the_oldest_python() -> None:
    found = {
        str(path.relative_to(ROOT)): newer
        for path in SOURCES
        if (newer := LATER.intersection(arguments(ast.parse(path.read_text()))))
    }
    assert found == {}, "the first 3.11 does not have these arguments"


def arguments(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each keyword argument of each call, with the name of what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
            yield from ((name, keyword.arg) for keyword in node.keywords if keyword.arg)


def test_no_group_of_a_pattern_has_a_possessive_quantifier() -> None:
    """Before 3.11.5 such a group swallows what it should leave: `(?:a|b)++`."""
    found = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(r"(?<!\()\)(?:[*+?]|\{[\d,]+\})\+", line) and ('r"' in line or 'rb"' in line)
    ]
    assert found == []
