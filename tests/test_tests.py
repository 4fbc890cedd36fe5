"""What holds for all tests: they start no program that a slim image may lack."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
# Spark itself starts by bash; kill, ps, lsof, java, node and psql may be missing.
ALWAYS_THERE = {"bash", "sh"}
_STARTS = {"run", "Popen", "call", "check_call", "check_output", "system", "which"}


def test_no_program_is_looked_for_on_the_path() -> None:
    found = {
        (str(path.relative_to(TESTS)), program)
        for path in TESTS.rglob("*.py")
        for program in programs(ast.parse(path.read_text()))
        if program not in ALWAYS_THERE and "/" not in program
    }
    assert found == set(), "use the standard library or psutil, or what the project installs"


def programs(tree: ast.AST) -> Iterator[str]:
    """The programs that a module starts, where they are named by a text."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in {"subprocess", "os", "shutil"}
            and node.func.attr in _STARTS
            and node.args
        ):
            first = node.args[0]
            if isinstance(first, ast.List | ast.Tuple) and first.elts:
                first = first.elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value.split()[0]
