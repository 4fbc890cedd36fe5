"""Marquez's recorded answers, asked again of our server."""

import subprocess
import sys
from pathlib import Path

from server.process import ServerProcess

RECORDED = Path(__file__).parents[1] / "contract" / "marquez"


def test_answers_are_those_of_marquez(server: ServerProcess) -> None:
    command = [sys.executable, str(RECORDED / "compare.py"), server.url, str(RECORDED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "240 passed, 0 failed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
