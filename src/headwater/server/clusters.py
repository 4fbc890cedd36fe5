"""The pipelines that the page can watch and change: workers of ours, and Kafka Connect clusters.

Both speak Kafka Connect's REST API; the server passes requests on, so that a browser needs to
reach nothing but the server, and hides secrets in what comes back.
"""

import asyncio
import json
from collections.abc import Callable

import httpx
from msgspec import Struct

from headwater.api.catalog import ConnectCluster
from headwater.errors import (
    EventTooLarge,
    PipelineAnswerUnusable,
    PipelineUnreachable,
    UnknownPipeline,
)
from headwater.openlineage.masking import Masker, mask_text, unmasked
from headwater.openlineage.sizes import check_values
from headwater.server.ingest.lane import Lane

_MOST_BYTES = 8 * 2**20  # of an answer: the states of some thousand connectors
_HELD_BYTES = 8 * _MOST_BYTES  # of all answers that wait to be masked
_PATIENCE = httpx.Timeout(30.0, connect=5.0)
_QUICK = 3.0
_LONGEST = 60.0  # seconds until the whole answer is there
_PART = 2**16  # bytes that are read at once
_masker = Masker()
Claim = Callable[[int], None]


class Forwarded(Struct, gc=False):
    """What a cluster answered."""

    status: int
    body: bytes
    kind: str

    @property
    def is_success(self) -> bool:
        """Whether the cluster did what it was asked."""
        return 200 <= self.status < 300


class Clusters:
    """The clusters that the server was told of, by name."""

    def __init__(self, told: tuple[tuple[str, str], ...]) -> None:
        self._urls = {name: url.rstrip("/") for name, url in told}
        self._client: httpx.AsyncClient | None = None
        # Masking a megabyte takes a third of a second.
        self._lane = Lane(_HELD_BYTES)

    async def all(self) -> list[ConnectCluster]:
        """Every cluster, and whether it answers."""
        return [*await asyncio.gather(*(self._look(name) for name in self._urls))]

    async def _look(self, name: str) -> ConnectCluster:
        url = mask_text(self._urls[name])
        try:
            with self._lane.hold() as claim:
                answer = await self._ask(name, "GET", "", claim, patience=httpx.Timeout(_QUICK))
                told = json.loads(answer.body)
        except (PipelineUnreachable, PipelineAnswerUnusable, ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            return ConnectCluster(name, url, "connect", False)
        kind, version = told.get("commit"), told.get("version")
        return ConnectCluster(
            name,
            url,
            "headwater" if kind == "headwater" else "connect",
            answer.is_success,
            version if isinstance(version, str) else None,
        )

    async def pass_on(
        self, name: str, method: str, path: str, query: bytes, body: bytes
    ) -> Forwarded:
        """Ask a cluster what the server was asked.

        Raises: UnknownPipeline, PipelineUnreachable, PipelineAnswerUnusable; ServerBusy, when too
            many large answers wait.
        """
        if name not in self._urls:
            raise UnknownPipeline(name, [*self._urls])
        with self._lane.hold() as claim:
            if method in ("POST", "PUT", "PATCH") and body:
                body = await self._with_secrets(name, path, body, claim)
            answer = await self._ask(name, method, path, claim, query, body)
            shown = await self._lane.run(len(answer.body), _without_secrets, answer.body)
            return Forwarded(answer.status, shown, answer.kind)

    async def _ask(
        self, name: str, method: str, path: str, claim: Claim, query: bytes = b"",
        body: bytes = b"", patience: httpx.Timeout = _PATIENCE,
    ) -> Forwarded:  # fmt: skip
        """What a cluster answers, as it is.

        Raises: PipelineUnreachable, PipelineAnswerUnusable, ServerBusy.
        """
        headers = {"content-type": "application/json"} if body else {}
        try:
            url = httpx.URL(f"{self._urls[name]}/{path}").copy_with(query=query or None)
            async with (
                asyncio.timeout(_LONGEST),
                self._open().stream(
                    method, url, content=body, headers=headers, timeout=patience
                ) as answer,
            ):
                read = await self._read(name, answer, claim)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            told = str(error) or type(error).__name__
            raise PipelineUnreachable(name, mask_text(self._urls[name]), told) from None
        return Forwarded(
            answer.status_code, read, answer.headers.get("content-type", "application/json")
        )

    async def _read(self, name: str, answer: httpx.Response, claim: Claim) -> bytes:
        """The body of an answer, as far as the server passes one on.

        Raises: PipelineAnswerUnusable, ServerBusy.
        """
        parts, size = [], 0
        async for part in answer.aiter_bytes(_PART):
            size += len(part)
            if size > _MOST_BYTES:
                raise self._unusable(name, f"is too large: it has over {_MOST_BYTES:,} bytes")
            claim(len(part))
            parts.append(part)
        body = b"".join(parts)
        try:
            check_values(body)
        except EventTooLarge:
            raise self._unusable(name, "is too large: it has too many values") from None
        return body

    def _unusable(self, name: str, reason: str) -> PipelineAnswerUnusable:
        return PipelineAnswerUnusable(name, mask_text(self._urls[name]), reason)

    async def _with_secrets(self, name: str, path: str, body: bytes, claim: Claim) -> bytes:
        """A configuration that was shown, changed and sent back, with its secrets again.

        Raises: PipelineUnreachable, PipelineAnswerUnusable, ServerBusy.
        """
        parts = path.split("/")
        if len(parts) != 3 or parts[0] != "connectors" or parts[2] != "config":
            return body
        stored = await self._ask(name, "GET", f"connectors/{parts[1]}/config", claim)
        if not stored.is_success:
            return body
        size = len(body) + len(stored.body)
        try:
            return await self._lane.run(size, _unmasked, body, stored.body)
        except (ValueError, RecursionError):
            raise self._unusable(name, "is not the configuration of a connector") from None

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=_PATIENCE, follow_redirects=False)
        return self._client

    async def close(self) -> None:
        """Let go of connections and threads."""
        self._lane.close()
        if self._client is not None:
            await self._client.aclose()


def _unmasked(sent: bytes, stored: bytes) -> bytes:
    """A configuration with the secrets of a stored one; what is none is left to the cluster.

    Raises: ValueError and RecursionError, when the stored one is no configuration.
    """
    try:
        values = json.loads(sent)
    except (ValueError, RecursionError):
        return sent
    known = json.loads(stored)
    if not isinstance(known, dict):
        raise ValueError("a configuration is an object")
    return json.dumps(unmasked(values, known)).encode() if isinstance(values, dict) else sent


def _without_secrets(body: bytes) -> bytes:
    """An answer without secrets: those of configurations, of validations and of traces."""
    try:
        return json.dumps(_masker.value(json.loads(body))).encode()
    except (ValueError, RecursionError):
        return mask_text(body.decode(errors="replace")).encode()
