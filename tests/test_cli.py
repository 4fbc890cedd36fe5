"""The command line's manners: help, version, errors."""

import subprocess
import sys


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headwater.cli.main", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_version_is_one_line_on_stdout() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("headwater ")


def test_no_arguments_show_the_help() -> None:
    assert "Usage" in run().stdout


def test_unknown_command_is_a_usage_error() -> None:
    done = run("nonsense")
    assert done.returncode == 2
    assert "nonsense" in done.stderr
