"""Puts listeners of our own into a JVM, before it has a session.

Spark makes the listeners that its configuration names for each session that it makes. So nothing
is missed: no session that lives for a moment only, and no query that is over before someone asks.
"""

from pathlib import Path

from headwater.capture.jvm.classes import PACKAGE, load_class
from headwater.capture.spark.jvm import Java

_LISTENERS = {
    "spark.sql.queryExecutionListeners": f"{PACKAGE}.Listeners$Actions",
    "spark.sql.streaming.streamingQueryListeners": f"{PACKAGE}.Listeners$Queries",
    "spark.extraListeners": f"{PACKAGE}.Listeners$Jobs,{PACKAGE}.Listeners$Checkpoints",
}


def install(jvm: Java, cache: Path) -> None:
    """Have Spark make the listeners for every session from now on; `cache` keeps their classes."""
    load(jvm, cache)
    system = jvm.java.lang.System
    for key, names in _LISTENERS.items():
        others = system.getProperty(key)
        system.setProperty(key, f"{others},{names}" if others else names)


def load(jvm: Java, cache: Path) -> Java:
    """Load the classes of the listeners, and give the queue of what they see."""
    return load_class(jvm, "Listeners", cache).SEEN


def register(jvm: Java, session: Java) -> Java:
    """Put the listeners into a session that was made without them; hold on to what is given back.

    A declarative pipeline removes the listeners of its session. So the one for actions is in a
    manager of its own, too; that of the session is handed on to the sessions of its queries.
    """
    package = getattr(jvm, PACKAGE)
    actions = getattr(package, "Listeners$Actions")()
    session.listenerManager().register(actions)
    session.streams().addListener(getattr(package, "Listeners$Queries")())
    conf = session.sessionState().conf()
    own = jvm.org.apache.spark.sql.util.ExecutionListenerManager(session, conf, False)
    own.register(actions)
    return own


def register_for_checkpoints(jvm: Java, context: Java) -> None:
    """Put the listener for checkpoints into a context that was made without it."""
    context.addSparkListener(getattr(getattr(jvm, PACKAGE), "Listeners$Checkpoints")())


def seen_by_listeners(jvm: Java, context: Java) -> Java | None:
    """The queue of what the listeners saw, if a Spark context (`SparkContext`) has them."""
    conf = context.getConf()
    if all(names in str(conf.get(key, "")) for key, names in _LISTENERS.items()):
        return getattr(jvm, PACKAGE).Listeners.SEEN
    return None
