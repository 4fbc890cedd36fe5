"""The wheel in an empty environment: light without extras, whole with them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from ports import free_port

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
# What goes onto a Spark cluster; each new dependency there is a decision.
MOST_PACKAGES = 35
MOST_MEGABYTES = 45


class Environment:
    """A virtual environment of its own, outside of which nothing is seen: no server either."""

    def __init__(self, folder: Path) -> None:
        self.folder, nobody = folder, f"http://127.0.0.1:{free_port()}"
        self._own = {"HEADWATER_SERVER": nobody, "HEADWATER_WORKER": nobody,
                     "HEADWATER_HOME": str(folder.parent / "home")}  # fmt: skip
        self._run(BIN / "uv", "venv", "--quiet", "--python", sys.executable, folder)

    def install(self, what: str) -> None:
        python = self.folder / "bin" / "python"
        self._run(BIN / "uv", "pip", "install", "--quiet", "--python", python, what)

    def headwater(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self._run(self.folder / "bin" / "headwater", *arguments, check=False)

    def python(self, code: str, *arguments: str) -> str:
        return self._run(self.folder / "bin" / "python", "-c", code, *arguments).stdout

    def packages(self) -> list[Path]:
        return list(self.site.glob("*.dist-info"))

    @property
    def site(self) -> Path:
        (found,) = (self.folder / "lib").glob("python*/site-packages")
        return found

    def _run(self, *command: str | Path, check: bool = True) -> "subprocess.CompletedProcess[str]":
        foreign = ("PYTHON", "VIRTUAL", "HEADWATER", "OPENLINEAGE")
        environ = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=self.folder.parent,
            env=environ | self._own,
        )
        assert not check or done.returncode == 0, done.stderr
        return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("empty") / "venv")
    made.install(str(wheel))
    return made


def test_base_install_is_light_and_knows_neither_spark_nor_server(
    environment: Environment,
) -> None:
    names = {path.name.partition("-")[0] for path in environment.packages()}
    assert not names & {"pyspark", "litestar", "psycopg", "psutil", "uvicorn"}
    assert len(names) <= MOST_PACKAGES, sorted(names)
    size = sum(path.stat().st_size for path in environment.site.rglob("*") if path.is_file())
    assert size <= MOST_MEGABYTES * 1e6, f"{size / 1e6:.0f} MB"
    loaded = environment.python(
        "import sys, headwater, headwater.cli.main; print(*sys.modules, sep='\\n')"
    ).split()
    assert not {"pyspark", "litestar", "psycopg", "openlineage", "httpx"} & set(loaded)
    why = "import headwater\ntry: headwater.attach\nexcept headwater.HeadwaterError as e: print(e)"
    assert environment.python(why) == "pyspark is not installed here\n"


# Every command, with arguments that get it to work as far as a base install can.
ARGUMENTS = {
    "connector delete": ["x"],
    "connector deploy": ["app.py"],
    "connector logs": ["x"],
    "connector pause": ["x"],
    "connector restart": ["x"],
    "connector resume": ["x"],
    "connector status": ["x"],
    "connector stop": ["x"],
    "demo break": ["stop"],
    "export": ["events.zst"],
    "impact": ["x"],
    "import": ["events.zst"],
    "job run": ["orders"],
    "job stop": ["x"],
    "key create": ["x", "--scope", "read"],
    "key revoke": ["x"],
    "lineage": ["x"],
    "logs": ["kafka"],
    "origin": ["x"],
    "reached": ["x", "--offsets", "1"],
    "run": ["--listener", "official", "app.py"],
    "search": ["x"],
    "submit": ["--listener", "official", "app.py"],
    "webhook create": ["x", "http://127.0.0.1:9"],
    "webhook delete": ["x"],
    "webhook test": ["x"],
    "why": ["x", "x = 1"],
    "why-not": ["x", "--record", "x/0@1"],
}
# What a base install can do, given a server, a worker or a store; everything else names an extra.
LIGHT = (
    *("connector", "diff", "events", "impact", "job stop", "lineage", "origin", "runs", "search"),
    *("key create", "key revoke", "reached", "sql", "watch"),
)
EVERY_COMMAND = """
import contextlib, io, json, sys
from typer.main import get_command
from headwater.cli.main import app, main

arguments, done, todo = json.loads(sys.argv[1]), {}, [([], get_command(app))]
while todo:
    words, command = todo.pop()
    todo += [([*words, name], child) for name, child in getattr(command, "commands", {}).items()]
    if hasattr(command, "commands") and words != ["demo"]:
        continue
    name, err = " ".join(words), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        try:
            main([*words, *arguments.get(name, [])])
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            code = repr(error)
    done[name] = (code, err.getvalue())
print(json.dumps(done))
"""


def test_every_command_without_its_extra_says_what_to_install(environment: Environment) -> None:
    assert environment.headwater("--version").stdout.startswith("headwater ")
    folder = environment.folder.parent
    (folder / "app.py").write_text("{}")
    (folder / "events.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    told = json.loads(environment.python(EVERY_COMMAND, json.dumps(ARGUMENTS)))
    assert len(told) > 40
    for name, (code, text) in told.items():
        assert code in (0, 1, 2), (name, code, text)  # and not an exception
        assert len(text.strip().splitlines()) <= 2, (name, text)
        if not name.startswith(LIGHT):
            assert "pip install 'headwater[" in text, (name, text)


def test_listener_and_capture_without_spark_say_what_to_install(environment: Environment) -> None:
    (environment.folder.parent / "app.py").touch()
    for command in ("run", "submit", "sql"):
        told = environment.headwater(command, "app.py")
        assert told.returncode == 1
        assert "pip install pyspark" in told.stderr


def test_server_of_the_wheel_serves_its_page_and_its_api(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(f"{wheel}[server]")
    port = free_port()
    server = subprocess.Popen(
        [environment.folder / "bin" / "headwater", "server", "--port", str(port)], cwd=tmp_path
    )
    try:
        url = f"http://127.0.0.1:{port}"
        limit = time.monotonic() + 180
        while not _answers(url):
            assert server.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.2)
        page = httpx.get(url, headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert "<html" in page.text
        assert httpx.get(f"{url}/api/v1/namespaces").json()["namespaces"]
    finally:
        server.terminate()
        server.wait(120)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").is_success
    except httpx.TransportError:
        return False
