"""The plan of a platform: Java found, jars here, ports chosen; nothing is running yet."""

from collections.abc import Mapping, Sequence

from headwater.stack import lock, ports, state
from headwater.stack.fetch import JarCache, Progress
from headwater.stack.files import require_room
from headwater.stack.java import java_home
from headwater.stack.ports import PortWish
from headwater.stack.service import PlatformLayout, Service
from headwater.stack.settings import Settings
from headwater.stack.spark import SPARK_SETS

# Kafka alone allocates its index files and the coordinators' topics at once.
_ROOM = 300 * 2**20


def make(
    services: Sequence[Service],
    settings: Settings,
    *,
    asked_ports: Mapping[str, int],
    free_ports: bool = False,
    progress: Progress | None = None,
) -> PlatformLayout:
    """Get everything ready that services need before they start.

    Raises:
        StackError: Java, a jar, room on the disk or a port is missing.

    """
    home = java_home(settings)
    cache = JarCache(settings.cache, ivy_settings=settings.ivy_settings)
    jars = lock.load()
    wanted = jars.jars(jar_sets(services))
    cache.ensure(wanted, home / "bin" / "java", progress=progress)
    for jar in wanted:
        if jar.type == "tar.gz":
            cache.unpacked(jar)
    require_room(settings.home, _ROOM)
    wishes = _wishes(services, settings, asked_ports, free_ports=free_ports)
    return PlatformLayout(
        home=settings.home,
        java_home=home,
        cache=cache,
        lock=jars,
        ports=ports.choose(wishes),
        unresponsive_s=settings.unresponsive_s,
    )


def jar_sets(services: Sequence[Service]) -> list[str]:
    """The sets of the lock that a platform needs, Spark's included where there are tables."""
    spark = SPARK_SETS if any(service.name == "metastore" for service in services) else ()
    return [*(name for service in services for name in service.sets), *spark]


def _wishes(
    services: Sequence[Service],
    settings: Settings,
    asked: Mapping[str, int],
    *,
    free_ports: bool,
) -> dict[str, PortWish]:
    last = state.last_ports(settings.home)
    any_port = 0 if free_ports else None
    wishes = {
        service.name: PortWish(
            service=service.name,
            default=service.port,
            asked=asked.get(service.name, any_port),
            last=last.get(service.name),
        )
        for service in services
    }
    for service in services:
        for name in service.extra_ports:
            wishes[name] = PortWish(service.name, default=0, asked=0, last=last.get(name))
    return wishes
