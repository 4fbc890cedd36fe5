"""What keeps the server from running, and what it cannot reach."""

from headwater.errors.base import HeadwaterError


class ServerExtraMissing(HeadwaterError):
    """A package of the `server` extra is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(
            f"the lineage server needs the Python package {package}",
            hint="Install it with: pip install 'headwater[server]'",
        )


class AddressUnavailable(HeadwaterError):
    """The server cannot listen on its address."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        self.host, self.port, self.reason = host, port, reason
        super().__init__(
            f"the server cannot listen on {host}:{port}: {reason}",
            hint="Stop the process that listens there, or pass another --port or --host",
        )


class KeyMissing(HeadwaterError):
    """The server has no key and was asked to listen on another address than loopback."""

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(
            f"a server without API keys listens on loopback only, not on {host}",
            hint="Create a key with `headwater key create NAME --scope admin --store …`, or pass "
            "--open if a reverse proxy authenticates requests",
        )


class KafkaExtraMissing(HeadwaterError):
    """Events or topics are to be read from Kafka, whose client is not installed."""

    def __init__(self, extra: str) -> None:
        self.extra = extra
        super().__init__(
            "the Kafka client is not installed",
            hint=f"Install it with: pip install 'headwater[server,{extra}]'",
        )


class StoreError(HeadwaterError):
    """The lineage store cannot be used."""


class UnknownStore(StoreError):
    """An address of an unsupported kind of store."""

    exit_code = 2

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(
            f"{url!r} is not the address of a supported store",
            hint="Use sqlite:///path/to/file.db or postgresql://user@host/database",
        )


class StoreUnreachable(StoreError):
    """The database cannot be opened."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"the store {url} cannot be opened: {reason}",
            hint="Check the path or address, the permissions and that the database is running",
        )


class WriteFailed(StoreError):
    """The store takes no writes at the moment; the same write may succeed later."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"the store {url} does not accept writes: {reason}",
            hint="Send the request again later: an event that is sent twice is stored once",
        )


class StoreTooNew(StoreError):
    """A newer version of Headwater has upgraded the store."""

    def __init__(self, url: str, version: int, known: int) -> None:
        self.url, self.version, self.known = url, version, known
        super().__init__(
            f"the store {url} has schema {version}, but this version of Headwater supports {known}",
            hint="Upgrade Headwater on this machine, or restore the backup from before the "
            "upgrade (docs/guides/upgrade.md)",
        )


class UpgradeBlocked(StoreError):
    """Another server holds the lock under which a store's tables are upgraded."""

    def __init__(self, url: str, seconds: float) -> None:
        self.url, self.seconds = url, seconds
        super().__init__(
            f"another server has been starting or upgrading the store {url} for {seconds:g} s",
            hint="If that server upgrades a large store, start this one when it is done; "
            "if it hangs, stop it",
        )


class UnknownPipeline(HeadwaterError):
    """A worker or Kafka Connect cluster that the server does not know."""

    def __init__(self, name: str, known: list[str]) -> None:
        self.name, self.known = name, known
        listed = f"The server has: {', '.join(known)}" if known else "The server has none yet"
        super().__init__(
            f"no pipeline is called {name!r}",
            hint=f"{listed}. To add one, start the server with --connect NAME=URL",
        )


class UnknownKafkaCluster(HeadwaterError):
    """A Kafka cluster that the server does not know."""

    def __init__(self, name: str, known: list[str]) -> None:
        self.name, self.known = name, known
        listed = f"The server has: {', '.join(known)}" if known else "The server has none yet"
        super().__init__(
            f"no Kafka cluster is called {name!r}",
            hint=f"{listed}. To add one, start the server with --kafka NAME=HOST:PORT",
        )


class UnknownTopic(HeadwaterError):
    """A topic that does not exist."""

    def __init__(self, name: str, cluster: str) -> None:
        self.name, self.cluster = name, cluster
        super().__init__(
            f"{cluster} has no topic {name!r}",
            hint="Check the list of topics; the topic may have been deleted",
        )


class KafkaUnreachable(HeadwaterError):
    """The brokers of a Kafka cluster did not answer the server."""

    def __init__(self, name: str, servers: str, reason: str) -> None:
        self.name, self.servers, self.reason = name, servers, reason
        super().__init__(
            f"{name} at {servers} does not answer: {reason}",
            hint="Check that the brokers are running, and that the server can reach and read them",
        )


class PipelineUnreachable(HeadwaterError):
    """A worker or Kafka Connect cluster did not answer the server."""

    def __init__(self, name: str, url: str, reason: str) -> None:
        self.name, self.url, self.reason = name, url, reason
        super().__init__(
            f"{name} at {url} does not answer: {reason}",
            hint="Check that it is running, and that the server can reach it",
        )


class PipelineAnswerUnusable(HeadwaterError):
    """A worker or Kafka Connect cluster sent an answer that the server does not pass on."""

    def __init__(self, name: str, url: str, reason: str) -> None:
        self.name, self.url, self.reason = name, url, reason
        super().__init__(
            f"{name} at {url} sent an answer that {reason}",
            hint="Check that the address is that of Kafka Connect's REST API, or ask it directly",
        )
