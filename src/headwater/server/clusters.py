"""The pipelines that the page can watch and change: workers of ours, and Kafka Connect clusters.

Both speak Kafka Connect's REST API; the server passes requests on, so that a browser needs to
reach nothing but the server, and hides secrets in what comes back.
"""

import asyncio
import json

import httpx
from msgspec import Struct

from headwater.api.catalog import ConnectCluster
from headwater.errors import PipelineUnreachable, UnknownPipeline
from headwater.openlineage.masking import Masker, mask_text, unmasked

_PATIENCE = httpx.Timeout(30.0, connect=5.0)
_QUICK = 3.0
_masker = Masker()


class Forwarded(Struct, gc=False):
    """What a cluster answered."""

    status: int
    body: bytes
    kind: str


class Clusters:
    """The clusters that the server was told of, by name."""

    def __init__(self, told: tuple[tuple[str, str], ...]) -> None:
        self._urls = {name: url.rstrip("/") for name, url in told}
        self._client: httpx.AsyncClient | None = None

    async def all(self) -> list[ConnectCluster]:
        """Every cluster, and whether it answers."""
        return [*await asyncio.gather(*(self._look(name) for name in self._urls))]

    async def _look(self, name: str) -> ConnectCluster:
        url = self._urls[name]
        try:
            answer = await self._open().get(f"{url}/", timeout=_QUICK)
            told = answer.json()
        except (httpx.HTTPError, ValueError):
            return ConnectCluster(name, mask_text(url), "connect", False)
        kind = "headwater" if told.get("commit") == "headwater" else "connect"
        return ConnectCluster(name, mask_text(url), kind, answer.is_success, told.get("version"))

    async def pass_on(
        self, name: str, method: str, path: str, query: bytes, body: bytes
    ) -> Forwarded:
        """Ask a cluster what the server was asked.

        Raises: UnknownPipeline, PipelineUnreachable.
        """
        if name not in self._urls:
            raise UnknownPipeline(name, [*self._urls])
        if method in ("POST", "PUT", "PATCH") and body:
            body = await self._with_secrets(name, path, body)
        answer = await self._ask(name, method, path, query, body)
        kind = answer.headers.get("content-type", "application/json")
        return Forwarded(answer.status_code, _without_secrets(answer.content), kind)

    async def _ask(
        self, name: str, method: str, path: str, query: bytes = b"", body: bytes = b""
    ) -> httpx.Response:
        url = httpx.URL(f"{self._urls[name]}/{path}").copy_with(query=query or None)
        headers = {"content-type": "application/json"} if body else {}
        try:
            return await self._open().request(method, url, content=body, headers=headers)
        except httpx.HTTPError as error:
            told = str(error) or type(error).__name__
            raise PipelineUnreachable(name, mask_text(self._urls[name]), told) from None

    async def _with_secrets(self, name: str, path: str, body: bytes) -> bytes:
        """A configuration that was shown, changed and sent back, with its secrets again."""
        parts = path.split("/")
        if len(parts) != 3 or parts[0] != "connectors" or parts[2] != "config":
            return body
        try:
            sent = json.loads(body)
        except ValueError:
            return body
        stored = await self._ask(name, "GET", f"connectors/{parts[1]}/config")
        if not isinstance(sent, dict) or not stored.is_success:
            return body
        return json.dumps(unmasked(sent, stored.json())).encode()

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_PATIENCE, follow_redirects=False)
        return self._client

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.aclose()


def _without_secrets(body: bytes) -> bytes:
    """An answer without secrets: those of configurations, of validations and of traces."""
    try:
        return json.dumps(_masker.value(json.loads(body))).encode()
    except (ValueError, RecursionError):
        return mask_text(body.decode(errors="replace")).encode()
