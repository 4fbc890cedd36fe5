"""The code with which a program exits is seen, whichever function is called for it."""

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
from headwater.capture.endings import Endings

class Told:
    def interrupted(self, by):
        pass
    def failed(self, error):
        print("failed" if error else "went on")
    def over(self, *, in_handler=False):
        print("over")

before = sys.exit, exit, quit
endings = Endings(Told())
assert repr(exit) == repr(before[1])
{}
endings.remove()
assert (sys.exit, exit, quit) == before
"""


@pytest.mark.parametrize(
    ("statement", "told", "code"),
    [
        ("sys.exit(3)", ["failed", "over"], 3),
        ("exit(3)", ["failed", "over"], 3),
        ("quit(3)", ["failed", "over"], 3),
        ("sys.exit('no')", ["failed", "over"], 1),
        ("sys.exit()", ["went on", "over"], 0),
        ("exit(0)", ["went on", "over"], 0),
        ("", [], 0),
    ],
)
def test_exits_are_seen(statement: str, told: list[str], code: int) -> None:
    program = [sys.executable, "-c", _PROGRAM.format(statement)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.stdout.split("\n")[:-1], done.returncode) == (told, code), done.stderr
