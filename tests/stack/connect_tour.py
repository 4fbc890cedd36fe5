"""What a client that others wrote does with a worker, the same to Headwater's and to a real one."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from kafka_connect import KafkaConnect
from requests import Response
from requests.exceptions import HTTPError

from stack.platform import eventually

# In the middle of a rebalance Kafka Connect answers changes with 409 and questions with 500.
_LATER = ("rebalance", "momentarily", "timed out")


def tour(url: str, name: str, config: dict[str, str], plugin: str) -> None:
    """Everything that `kafka-connect-py` can do with one connector, from its birth to its end."""
    client: Any = Patient(KafkaConnect(url=url))
    assert set(client.get_cluster_info()) == {"version", "commit", "kafka_cluster_id"}
    assert plugin in {one["class"] for one in client.list_connector_plugins()}
    short = plugin.rpartition(".")[2]
    validated = client.validate_connector_config(short, {**config, "name": name})
    assert validated["error_count"] == 0, validated

    made = client.create_connector({"name": name, "config": config})
    assert (made["name"], made["config"]["connector.class"]) == (name, config["connector.class"])
    assert name in client.list_connectors()
    # Who has just been made has a status a moment later.
    eventually(lambda: set(client.list_connectors(expand="status").get(name, ())) == {"status"})

    def states() -> list[str]:
        status = client.list_connectors(expand="status")[name]["status"]
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    eventually(lambda: states() == ["RUNNING", "RUNNING"])
    assert client.get_connector_task_status(name, 0)["state"] == "RUNNING"
    assert len(client.list_connector_tasks(name)) == 1
    assert client.get_connector(name)["type"] == "source"
    client.pause_connector(name)
    eventually(lambda: states() == ["PAUSED", "PAUSED"])
    client.resume_connector(name)
    eventually(lambda: states() == ["RUNNING", "RUNNING"])
    client.stop_connector(name)
    eventually(lambda: states() == ["STOPPED"])
    client.resume_connector(name)
    eventually(lambda: states() == ["RUNNING", "RUNNING"])
    client.update_connector(name, {**config, "tasks.max": "1"})
    assert client.get_connector_config(name)["tasks.max"] == "1"
    eventually(lambda: states() == ["RUNNING", "RUNNING"])
    client.restart_connector(name)
    client.restart_connector(name, include_tasks=True)
    eventually(lambda: states() == ["RUNNING", "RUNNING"])
    client.restart_connector_task(name, 0)
    assert set(client.list_connector_topics(name)) == {name}
    client.reset_connector_topics(name)
    client.delete_connector(name)
    eventually(lambda: name not in client.list_connectors())
    eventually(lambda: _has_no_status(client, name))


class Patient:
    """A client that asks again as long as a rebalance is the reason for not being answered."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: self._answer(getattr(self._client, name), *given, **named)

    def _answer(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        answers: list[Any] = []

        def answered() -> bool:
            try:
                answers.append(call(*given, **named))
            except HTTPError as error:
                if error.response is None or not _is_for_later(error.response):
                    raise
            return bool(answers)

        eventually(answered)
        return answers[0]


def _is_for_later(response: Response) -> bool:
    is_refused = response.status_code in (HTTPStatus.CONFLICT, HTTPStatus.INTERNAL_SERVER_ERROR)
    return is_refused and any(word in response.text for word in _LATER)


def _has_no_status(client: Any, name: str) -> bool:
    try:
        client.get_connector_status(name)
    except HTTPError as error:
        return error.response is not None and error.response.status_code == HTTPStatus.NOT_FOUND
    return False  # a real worker forgets it a moment later
