"""A client of the live stream, as simple as can be."""

import json
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

import httpx


class Told(NamedTuple):
    """One server-sent event."""

    id: int | None
    event: str
    data: Any


class Watcher:
    """Reads a stream in a thread of its own until it is closed or the server is gone."""

    def __init__(
        self, url: str, after: int | None = None, *, key: str | None = None, **params: str
    ) -> None:
        self._key = key
        self.told: list[Told] = []
        self._news = threading.Condition()
        self._open = threading.Event()
        self._url, self._params, self._after = url, params, after
        self._response: httpx.Response | None = None
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        headers = {} if self._after is None else {"Last-Event-ID": str(self._after)}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        timeout = httpx.Timeout(30, read=120)
        try:
            with (
                httpx.Client(timeout=timeout) as client,
                client.stream(
                    "GET", f"{self._url}/api/v1/stream", params=self._params, headers=headers
                ) as response,
            ):
                self._response = response
                self._read(response)
        except (httpx.HTTPError, OSError, httpx.StreamError):
            pass
        finally:
            self._open.set()
            self.ended.set()

    def _read(self, response: httpx.Response) -> None:
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            self._open.set()
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
            elif "event" in fields:
                number = int(fields["id"]) if "id" in fields else None
                with self._news:
                    self.told.append(Told(number, fields["event"], json.loads(fields["data"])))
                    self._news.notify_all()
                fields = {}

    def wait_for(self, count: int, timeout: float = 60) -> list[Told]:
        """The first so many events."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.told) >= count, timeout), self.told
            return self.told[:count]

    def wait_until(self, is_it: Callable[[Told], bool], timeout: float = 60) -> None:
        """Wait for an event of a kind."""
        with self._news:
            assert self._news.wait_for(lambda: any(map(is_it, self.told)), timeout), self.told

    def __enter__(self) -> "Watcher":
        self._thread.start()
        assert self._open.wait(120)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._response is not None and not self.ended.is_set():
            # Closing from another thread: shut the connection, which ends the read.
            stream = self._response.extensions["network_stream"]
            stream.get_extra_info("socket").shutdown(2)
        self._thread.join(120)
