"""The command line's manners: help, version, errors, streams, colours."""

import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.main import get_command

from cli.lab import Lab, run_headwater
from headwater.cli.main import app, main
from ports import free_port


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


def every_command() -> Iterator[list[str]]:
    """Every command and group, by its words."""
    todo: list[tuple[list[str], Any]] = [([], get_command(app))]
    while todo:
        words, command = todo.pop()
        yield words
        todo += [([*words, name], one) for name, one in getattr(command, "commands", {}).items()]


def test_no_help_shows_what_a_flag_takes() -> None:
    asked = [*every_command()]
    assert len(asked) > 40
    for words in asked:
        out = StringIO()
        with redirect_stdout(out), pytest.raises(SystemExit):
            main([*words, "--help"])
        assert "<bool>" not in out.getvalue(), words


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
    assert process.wait(timeout=120) == 0
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


def test_the_server_says_where_it_is_and_where_it_stores(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "headwater.cli.main", "server", "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--store", "sqlite:///lineage.db", "--log-level", "warning"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    try:
        told = [server.stderr.readline() for _ in range(4)]
        answered = httpx.get(f"http://127.0.0.1:{port}/ready").status_code
    finally:
        server.terminate()
        server.communicate(timeout=120)
    url = f"http://127.0.0.1:{port}"
    assert answered == 200  # it is said when requests are answered, not before
    assert told[0].endswith(f" is ready at {url}\n")
    assert told[1].split() == ["page", f"{url}/"]
    assert f"OPENLINEAGE_URL={url}" in told[2]
    assert told[3].split() == ["store", f"sqlite:///{tmp_path / 'lineage.db'}"]


def test_what_a_worker_answers_is_shown_as_it_is(lab: Lab) -> None:
    done = run_headwater("connector", "status", "nobody", "--worker", lab.url)
    assert done.returncode == 1
    assert f"{lab.url}/connectors/nobody/status answered 404: " in done.stderr
    assert "headwater worker" not in done.stderr
    silent = run_headwater("connector", "list", "--worker", f"http://127.0.0.1:{free_port()}")
    assert silent.stderr.startswith("error: no worker at ")
    assert "headwater worker" in silent.stderr


class _WorkerWithKey(BaseHTTPRequestHandler):
    """A worker without connectors, for those who have its key."""

    def do_GET(self) -> None:
        is_known = self.headers["authorization"] == "Bearer hw_worker"
        self.send_response(200 if is_known else 401)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_worker_that_wants_a_key_gets_it_from_the_variable_in_the_hint() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _WorkerWithKey) as worker:
        threading.Thread(target=worker.serve_forever).start()
        ask = ("connector", "list", "--worker", f"http://127.0.0.1:{worker.server_port}")
        try:
            refused = run_headwater(*ask)
            (variable,) = re.findall(r"Set (\w+) to a key", refused.stderr)
            accepted = run_headwater(*ask, **{variable: "hw_worker"})
        finally:
            worker.shutdown()
    assert (refused.returncode, accepted.returncode) == (1, 0), accepted.stderr
