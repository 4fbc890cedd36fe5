"""Speaks Kafka Connect's REST API: to Headwater's worker, and to a real Kafka Connect alike."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from headwater.errors import UsageError, WorkerRefused

_TIMEOUT_S = 120
# Names of this machine are asked directly, whatever proxy the environment names.
_HERE: dict[str, httpx.BaseTransport | None] = {"all://127.0.0.1": None, "all://localhost": None}


class Connect:
    """A worker at an address."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def statuses(self) -> dict[str, Any]:
        """Every connector's status, by name."""
        found = self.ask("GET", "/connectors?expand=status")
        return {name: one["status"] for name, one in found.items()}

    def status(self, name: str) -> Any:
        """One connector's status."""
        return self.ask("GET", f"{_path(name)}/status")

    def configure(self, name: str, config: dict[str, Any], *, takeover: bool = False) -> None:
        """Deploy a connector, or change it to this configuration."""
        query = "?takeover=true" if takeover else ""
        self.ask("PUT", f"{_path(name)}/config{query}", config)

    def change(self, name: str, config: dict[str, Any]) -> None:
        """Change some keys of a connector's configuration."""
        self.ask("PATCH", f"{_path(name)}/config", config)

    def set_target_state(self, name: str, action: str) -> None:
        """Pause, resume or stop a connector."""
        self.ask("PUT", f"{_path(name)}/{action}")

    def restart(self, name: str) -> None:
        """Restart a connector and its tasks."""
        self.ask("POST", f"{_path(name)}/restart?includeTasks=true")

    def delete(self, name: str, *, purge: bool = False) -> None:
        """Stop and delete a connector."""
        self.ask("DELETE", f"{_path(name)}{'?purge=true' if purge else ''}")

    def logs(self, name: str, lines: int) -> list[Any]:
        """What happened to a connector lately.

        Raises:
            WorkerRefused: also by a real Kafka Connect, which does not know.

        """
        found: list[Any] = self.ask("GET", f"{_path(name)}/logs?lines={lines}")["lines"]
        return found

    def position(self, name: str) -> int:
        """How many records of its topics a connector has behind it."""
        found = self.ask("GET", f"{_path(name)}/offsets")["offsets"]
        return sum(one["offset"].get("kafka_offset", 0) for one in found)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and read the answer.

        Raises:
            WorkerRefused: nobody answered, or with an error.

        """
        url = f"{self.url}{path}"
        try:
            with httpx.Client(timeout=_TIMEOUT_S, mounts=_HERE) as client:
                answer = client.request(method, url, json=body, headers=_key())
        except httpx.HTTPError as error:
            raise WorkerRefused(url, 0, str(error) or type(error).__name__) from error
        if answer.is_error:
            raise WorkerRefused(url, answer.status_code, _message(answer))
        return answer.json() if answer.content else None


def read_connector(path: Path) -> tuple[str, dict[str, Any]]:
    """The name and the configuration in a connector's file.

    Raises:
        UsageError: it cannot be read, or is none.

    """
    try:
        body = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is not a JSON object: {error}") from error
    return str(body.get("name", path.stem)), dict(body.get("config", body))


def traces(status: Any) -> list[str]:
    """Why a connector or its tasks failed."""
    found = (one.get("trace", "") for one in (status["connector"], *status["tasks"]))
    return [trace for trace in found if trace]


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _key() -> dict[str, str]:
    """A worker's key has a variable of its own: the server's is not sent to other services."""
    key = os.environ.get("HEADWATER_WORKER_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:300]
