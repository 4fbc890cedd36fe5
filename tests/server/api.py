"""The server's API as tests speak it."""

import json
from typing import Any
from urllib.parse import quote

import httpx

from server.events import Event, as_bytes, run_id
from server.shapes import check_answers

_JSON = {"content-type": "application/json"}


class Api:
    """A client of one server, whether it runs in this process or in its own."""

    def __init__(self, client: httpx.Client, store_url: str) -> None:
        self.client, self.store_url = client, store_url
        check_answers(client)

    def post(
        self, body: bytes, path: str = "/api/v1/lineage", **headers: str
    ) -> httpx.Response:  # fmt: skip
        """Send a body as it is."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, content=body, headers=_JSON | told)

    def send(self, *events: Event) -> None:
        """Send events one by one; each is accepted."""
        for event in events:
            answer = self.post(as_bytes(event))
            assert answer.status_code == 201, answer.text

    def send_batch(self, *events: Event) -> None:
        """Send events together; each is accepted."""
        answer = self.post(b"\n".join(map(as_bytes, events)), "/api/v1/lineage/batch")
        assert answer.status_code == 201, answer.text

    def get(self, path: str, **params: Any) -> Any:
        """What is found at a path."""
        answer = self.client.get(f"/api/v1{path}", params=params)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return json.loads(answer.content)

    def status(self, path: str, **params: Any) -> int:
        """The code of an answer."""
        return self.client.get(f"/api/v1{path}", params=params).status_code

    def lineage(self, node: str, **params: Any) -> dict[str, Any]:
        """The nodes of a lineage graph by id."""
        found = self.get("/lineage", nodeId=node, **params)["graph"]
        return {node["id"]: node for node in found}

    def columns(self, node: str, **params: Any) -> dict[str, Any]:
        """The nodes of a column graph by id."""
        found = self.get("/column-lineage", nodeId=node, **params)["graph"]
        return {node["id"]: node for node in found}

    def job(self, name: str, namespace: str = "jobs") -> Any:
        """A job."""
        return self.get(f"/namespaces/{quote(namespace, '')}/jobs/{quote(name, '')}")

    def dataset(self, name: str, namespace: str = "db") -> Any:
        """A dataset."""
        return self.get(f"/namespaces/{quote(namespace, '')}/datasets/{quote(name, '')}")

    def run(self, name: str) -> Any:
        """A run by its short name."""
        return self.get(f"/jobs/runs/{run_id(name)}")

    def inputs(self, job: str = "job") -> list[str]:
        """The names of what a job reads."""
        return [told["name"] for told in self.job(job)["inputs"]]

    def outputs(self, job: str = "job") -> list[str]:
        """The names of what a job writes."""
        return [told["name"] for told in self.job(job)["outputs"]]

    def raw_events(self, **params: Any) -> bytes:
        """The list of events, as the server writes it."""
        answer = self.client.get("/api/v1/events/lineage", params=params)
        assert answer.status_code == 200
        return answer.content

    def event_count(self) -> int:
        """How many events of any kind are stored."""
        total: int = self.get("/events/lineage", kind="all", limit=0)["totalCount"]
        return total
