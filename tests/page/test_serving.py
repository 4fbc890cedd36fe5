"""How the server gives the page out, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from litestar.testing import TestClient
from litestar.types import ASGIApp

from headwater.server.http import page as served
from headwater.server.http.app import make_app
from headwater.server.settings import Settings


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient[ASGIApp]]:
    """A server with the page as it was built."""
    app = make_app(Settings(store=f"sqlite:///{tmp_path}/page.db"))
    with TestClient[ASGIApp](app, base_url="http://127.0.0.1") as found:
        yield found


def script_of(html: str) -> str:
    return html.partition('type="module" crossorigin src="')[2].partition('"')[0]


def test_every_view_is_the_page_and_can_be_linked(client: TestClient[ASGIApp]) -> None:
    first = client.get("/")
    assert first.status_code == 200
    for path in ("/lineage?node=dataset%3Adb%3At", "/jobs", "/runs/view?id=1", "/apiary"):
        assert client.get(path, headers={"Accept": "text/html"}).text == first.text


def test_the_page_shadows_nothing_of_the_api(client: TestClient[ASGIApp]) -> None:
    for path in ("/api/v1/nowhere", "/api/nowhere", "/assets/gone.js"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
    for path in ("/health", "/ready", "/metrics", "/api/v1/namespaces"):
        assert "html" not in client.get(path).headers["content-type"]


def test_files_with_a_digest_in_their_name_are_kept_and_the_page_is_asked_for_anew(
    client: TestClient[ASGIApp],
) -> None:
    first = client.get("/")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    script = client.get(script_of(first.text))
    assert "immutable" in script.headers["cache-control"]


@pytest.mark.parametrize("encoding", ["br", "gzip"])
def test_files_come_compressed(client: TestClient[ASGIApp], encoding: str) -> None:
    path = script_of(client.get("/").text)
    packed = client.get(path, headers={"accept-encoding": encoding})
    assert packed.headers["content-encoding"] == encoding
    plain = client.get(path, headers={"accept-encoding": "identity"})
    assert int(packed.headers["content-length"]) < len(plain.content) / 2


def test_only_our_own_scripts_may_run(client: TestClient[ASGIApp]) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy


def test_a_page_that_was_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    app = make_app(Settings(store=f"sqlite:///{tmp_path}/page.db"))
    with TestClient[ASGIApp](
        served.page(app, tmp_path / "nothing"), base_url="http://127.0.0.1"
    ) as client:
        answer = client.get("/")
        assert (answer.status_code, "make setup" in answer.text) == (503, True)
        assert client.get("/health").status_code == 200
