"""Fixtures of the server: real stores, and the server over each of them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from litestar.testing import TestClient

from headwater.server.http.app import make_app
from headwater.server.settings import Settings
from server.api import Api
from server.process import ServerProcess
from server.stores import KINDS, Stores, open_stores


class OpenApi(Protocol):
    """Opens a server in this process; settings as keywords."""

    def __call__(self, store: str, **settings: object) -> AbstractContextManager[Api]: ...


@pytest.fixture(scope="session")
def stores() -> Iterator[Stores]:
    """Empty stores, as many as wanted."""
    with open_stores() as found:
        yield found


@pytest.fixture(params=KINDS)
def store_url(request: pytest.FixtureRequest, stores: Stores) -> Iterator[str]:
    """An empty store of each kind."""
    url = stores.new(request.param)
    yield url
    stores.drop(url)


@contextmanager
def open_api(store: str, **settings: object) -> Iterator[Api]:
    """A server in this process, spoken to over its ASGI interface."""
    app = make_app(Settings(store=store, **settings))  # type: ignore[arg-type]
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield Api(client, store)


@pytest.fixture(name="open_api", scope="session")
def open_api_fixture() -> OpenApi:
    """Opens a server in this process over a store."""
    return open_api


@pytest.fixture
def api(store_url: str) -> Iterator[Api]:
    """A server in this process over an empty store of each kind."""
    with open_api(store_url) as found:
        yield found


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server in its own process over an empty store of each kind."""
    with ServerProcess(store_url, tmp_path / "server.log") as found:
        yield found
