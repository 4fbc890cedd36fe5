"""Every service there is, and which of them a platform has."""

from collections.abc import Iterable

from headwater.errors import UsageError
from headwater.stack.connect import CONNECT
from headwater.stack.history import HISTORY
from headwater.stack.kafka import KAFKA
from headwater.stack.lineage import SERVER
from headwater.stack.metastore import METASTORE
from headwater.stack.registry import REGISTRY
from headwater.stack.s3 import S3
from headwater.stack.service import Service
from headwater.stack.worker import WORKER

SERVICES = {
    service.name: service
    for service in (KAFKA, REGISTRY, S3, METASTORE, SERVER, WORKER, CONNECT, HISTORY)
}
DEMO = ("kafka", "registry", "s3", "metastore", "server")


def choose(only: Iterable[str] = (), extra: Iterable[str] = ()) -> tuple[Service, ...]:
    """The services to run, in the order of the catalog, with those that they need.

    Raises:
        UsageError: a name is not a service.

    """
    names = {*(tuple(only) or DEMO), *extra}
    for name in sorted(names):
        if name not in SERVICES:
            raise UsageError(
                f"{name!r} is not a service", hint=f"Services are: {', '.join(SERVICES)}"
            )
    needed = {need for name in names for need in SERVICES[name].needs}
    return tuple(s for s in SERVICES.values() if s.name in names | needed)
