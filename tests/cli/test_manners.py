"""The command line's manners: help, version, errors, streams, colours."""

import os
import pty
import subprocess
import sys

from cli.lab import Lab, free_port, run_headwater


def test_version_is_one_line_on_stdout() -> None:
    done = run_headwater("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("headwater ")
    assert done.stdout.count("\n") == 1


def test_the_help_lists_commands_in_panels_with_examples() -> None:
    done = run_headwater()
    for text in ("─ Lineage ─", "─ Server ─", "lineage", "runs", "events", "search", "server"):
        assert text in done.stdout
    assert "headwater lineage orders.price --columns" in done.stdout
    assert "<bool>" not in done.stdout


def test_unknown_command_is_a_usage_error() -> None:
    done = run_headwater("nonsense")
    assert done.returncode == 2
    assert "nonsense" in done.stderr


def test_a_server_that_does_not_answer_is_told_in_two_lines() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = run_headwater("runs", "--server", url)
    assert (done.returncode, done.stdout) == (1, "")
    what, hint = done.stderr.splitlines()
    assert what.startswith(f"error: no lineage server answers at {url}: ")
    assert "headwater server" in hint
    assert "--server" in hint


def test_an_address_without_a_scheme_is_taken_for_http(lab: Lab) -> None:
    done = run_headwater("search", "ingestion", "--server", lab.url.removeprefix("http://"))
    assert "job:lab:iceberg-ingestion" in done.stdout


def test_the_option_wins_over_ours_over_openlineage_s(lab: Lab) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    ask = ("search", "ingestion")
    assert run_headwater(*ask, OPENLINEAGE_URL=lab.url).returncode == 0
    ours = run_headwater(*ask, HEADWATER_SERVER=lab.url, OPENLINEAGE_URL=nowhere)
    assert ours.returncode == 0
    given = run_headwater(*ask, "--server", nowhere, HEADWATER_SERVER=lab.url)
    assert (given.returncode, nowhere in given.stderr) == (1, True)


def test_what_is_no_lineage_server_is_told(lab: Lab) -> None:
    done = run_headwater("runs", "--server", f"{lab.url}/elsewhere")
    assert done.returncode == 1
    assert "answered 404" in done.stderr


def in_terminal(lab: Lab, *args: str, **env: str) -> str:
    """What a person sees who runs the command in a terminal."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "HEADWATER_SERVER": lab.url, **env}
    command = [sys.executable, "-m", "headwater.cli.main", *args]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:  # Linux ends a terminal that nobody holds with an error
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=60) == 0
    return seen.decode()


def test_colours_are_for_terminals_and_not_with_no_color(lab: Lab) -> None:
    ask = ("lineage", "job:lab:orders-check")
    assert "\x1b" in in_terminal(lab, *ask)
    assert "\x1b" not in in_terminal(lab, *ask, NO_COLOR="1")
    assert "\x1b" not in lab.ask(*ask).stdout


def test_a_terminal_without_the_signs_still_gets_an_answer(lab: Lab) -> None:
    done = run_headwater("runs", HEADWATER_SERVER=lab.url, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "? failed" in done.stdout
