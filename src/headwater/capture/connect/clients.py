"""The clients of a Spark Connect server that is observed from inside: each is an application."""

import threading
import uuid
from typing import NamedTuple

from headwater.capture import facets
from headwater.capture.events import RunName, snake
from headwater.capture.runs import Runs
from headwater.capture.spark.jvm import Java, call, option, private_field, scala_object
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName

# Main classes that are servers of Spark Connect.
SERVERS = "org.apache.spark.sql.connect.service."
_SERVICE = f"{SERVERS}SparkConnectService"
_NAME = "spark.app.name"


class _Client(NamedTuple):
    key: Java
    run: RunName


class Clients:
    """Gives each session that a client has in the server a run of its own."""

    def __init__(self, manager: Java, runs: Runs, server: RunName, server_name: str) -> None:
        self._manager, self._runs = manager, runs
        self._server, self._server_name = server, server_name
        self._clients: dict[str, _Client] = {}
        self._lock = threading.Lock()

    @classmethod
    def of_server(
        cls, jvm: Java, runs: Runs, server: RunName, server_name: str
    ) -> "Clients | None":
        """Those of the server in a JVM; None if it cannot be asked."""
        service = scala_object(jvm, _SERVICE)
        manager = call(service, "sessionManager")
        return cls(manager, runs, server, server_name) if manager is not None else None

    def run_of(self, session: Java) -> RunName | None:
        """The run of the client that a session belongs to; it begins when it is first asked for."""
        if session is None:
            return None
        identity = str(session.sessionUUID())
        with self._lock:
            known = self._clients.get(identity)
            if known is None:
                known = self._begin(identity, session)
            return known.run if known is not None else None

    def poll(self) -> None:
        """End the runs of clients that have closed their sessions."""
        with self._lock:
            clients = list(self._clients.items())
        for identity, client in clients:
            if option(self._manager.getIsolatedSessionIfPresent(client.key)) is None:
                with self._lock:
                    self._clients.pop(identity, None)
                self._runs.end(client.run.run_id, EventType.COMPLETE)

    def _begin(self, identity: str, session: Java) -> _Client | None:
        for holder in private_field(self._manager, "sessionStore").values():
            if str(holder.session().sessionUUID()) != identity:
                continue
            named = str(option(session.conf().getOption(_NAME)) or "")
            name = named if named != self._server_name else str(holder.userId()) or "client"
            above = self._server.job
            run = RunName(
                str(uuid.uuid4()), JobName(above.namespace, f"{above.name}.{snake(name)}")
            )
            kind = facets.job_type("BATCH", "APPLICATION")
            self._runs.start(run, kind, parent=self._server)
            client = self._clients[identity] = _Client(holder.key(), run)
            return client
        return None
