"""What goes wrong in the data pipeline and its workers."""

import signal

from headwater.errors.base import HeadwaterError

_NOT_FOUND = 404
_WORKER_REFUSED = {
    0: "Start one with `headwater worker`, or pass another address with --worker URL",
    401: "Set HEADWATER_WORKER_KEY to a key that the worker accepts",
    403: "Use a key with the scope that the request needs",
    _NOT_FOUND: "See `headwater connector list` for the connectors of this worker",
    409: "See `headwater connector status NAME`, and try again when its state allows it",
    4: "Correct the request as the response says",
    5: "Check the log of the worker",
}


class PipelineError(HeadwaterError):
    """The data pipeline failed."""


class PipelineExtraMissing(PipelineError):
    """A package of the `pipeline` extra is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(
            f"the pipeline needs the Python package {package}",
            hint="Install it with: pip install 'headwater[pipeline,server,stack]'",
        )


class BadConfig(PipelineError):
    """A connector's configuration cannot be used; every fault is named with its key."""

    exit_code = 2

    def __init__(self, connector: str, faults: dict[str, str]) -> None:
        self.connector, self.faults = connector, faults
        listed = "; ".join(f"{key}: {reason}" for key, reason in faults.items())
        super().__init__(
            f"connector {connector} cannot start: {listed}",
            hint="Correct these keys of its configuration and deploy it again",
        )


class SecretMissing(PipelineError):
    """A secret of a configuration is not defined."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(
            f"{reference} is not defined",
            hint="Set the variable, or the key in the file, where the worker runs",
        )


class AddressMissing(PipelineError):
    """A job has no address of a service."""

    exit_code = 2

    def __init__(self, what: str, names: tuple[str, ...]) -> None:
        self.what, self.names = what, names
        super().__init__(
            f"the address of {what} is missing",
            hint=f"Start `headwater up`, or set {' or '.join(names)}",
        )


class RegistryRefused(PipelineError):
    """The schema registry rejected a request; `transient` if a later one may succeed."""

    def __init__(self, what: str, reason: str, *, transient: bool = False) -> None:
        self.what, self.reason, self.transient = what, reason, transient
        super().__init__(
            f"the schema registry refused {what}: {reason}",
            hint="Check the registry's address and the subject's compatibility rule",
        )


class BadSchema(PipelineError):
    """A Protobuf schema cannot be compiled, or has no type for a field."""

    def __init__(self, which: str, reason: str) -> None:
        self.which, self.reason = which, reason
        super().__init__(
            f"the Protobuf schema {which} cannot be used: {reason}",
            hint="Correct the schema, or register its imports as references",
        )


class TableMissing(PipelineError):
    """A table does not exist and must not be created."""

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            f"the table {table} does not exist",
            hint="Create it, or set iceberg.tables.auto-create-enabled to true",
        )


class UnknownJob(PipelineError):
    """A job that does not exist."""

    exit_code = 2

    def __init__(self, name: str, known: list[str]) -> None:
        self.name, self.known = name, known
        super().__init__(f"no job is called {name!r}", hint=f"The jobs are: {', '.join(known)}")


class JobInterrupted(PipelineError):
    """A signal ended a batch job before it was done."""

    def __init__(self, name: str, number: signal.Signals) -> None:
        self.name, self.exit_code = name, 128 + number
        super().__init__(
            f"{number.name} ended {name} before it was finished", hint="Run the job again"
        )


class TargetOwned(PipelineError):
    """A connector would write where another connector writes already."""

    def __init__(self, name: str, owners: dict[str, str]) -> None:
        self.name, self.owners = name, owners
        listed = "; ".join(f"{place} belongs to {owner}" for place, owner in owners.items())
        super().__init__(
            f"connector {name} cannot be deployed: {listed}",
            hint="Choose another target, delete the owner, or deploy with takeover=true, which "
            "stops the owner and continues where it stopped",
        )


class ObjectUnnamed(PipelineError):
    """A file that Spark staged has no place among a topic's objects."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(
            f"the staged file {file} has no offset in its name",
            hint="This version of Spark names files differently: please report it",
        )


class StateInUse(PipelineError):
    """Another worker uses the same state."""

    def __init__(self, place: str, holder: str) -> None:
        self.place, self.holder = place, holder
        super().__init__(
            f"another worker uses the state in {place} ({holder})",
            hint="Stop that worker, or give this one another --state",
        )


class StateUnreadable(PipelineError):
    """A stored connector cannot be read."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(
            f"the connector stored in {file} cannot be read: {reason}",
            hint="A newer version may have written it: use that version, or move the file away "
            "and deploy the connector again",
        )


class UnknownConnector(PipelineError):
    """A connector that does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Connector {name} not found", hint="See `headwater connector list`")


class UnknownLogger(PipelineError):
    """A logger, or a level of logging, that does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="See `GET /admin/loggers`")


class ConnectorConflict(PipelineError):
    """A request does not fit the state of the connector."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"Connector {name} {reason}", hint="See `headwater connector status`")


class WorkerRefused(PipelineError):
    """A worker did not answer, or answered with an error."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        self.url, self.status, self.reason = url, status, reason
        super().__init__(
            f"{url} answered {status}: {reason}" if status else f"no worker at {url}: {reason}",
            hint=_WORKER_REFUSED.get(status, _WORKER_REFUSED.get(status // 100, "")),
        )
