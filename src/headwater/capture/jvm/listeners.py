"""Puts listeners of our own into a JVM, before it has a session.

Spark makes the listeners that its configuration names for each session that it makes. So nothing
is missed: no session that lives for a moment only, and no query that is over before someone asks.
"""

import hashlib
import logging
import tempfile
from importlib.resources import files
from pathlib import Path

from headwater.capture.folders import is_own, make_private, write_private
from headwater.capture.spark.jvm import Java

log = logging.getLogger("headwater.capture")

_PACKAGE = "headwater"
_LISTENERS = {
    "spark.sql.queryExecutionListeners": f"{_PACKAGE}.Listeners$Actions",
    "spark.sql.streaming.streamingQueryListeners": f"{_PACKAGE}.Listeners$Queries",
    "spark.extraListeners": f"{_PACKAGE}.Listeners$Jobs",
}


def install(jvm: Java, cache: Path) -> None:
    """Have Spark make the listeners for every session from now on; `cache` keeps their classes."""
    load(jvm, cache)
    system = jvm.java.lang.System
    for key, name in _LISTENERS.items():
        others = system.getProperty(key)
        system.setProperty(key, f"{others},{name}" if others else name)


def load(jvm: Java, cache: Path) -> Java:
    """Load the classes of the listeners, and give the queue of what they see."""
    package = getattr(jvm, _PACKAGE)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(f"{_PACKAGE}/Listeners.class") is None:
        folder = _compiled(jvm, loader, cache)
        loader.addURL(jvm.java.io.File(str(folder)).toURI().toURL())
    return package.Listeners.SEEN


def register(jvm: Java, session: Java) -> Java:
    """Put the listeners into a session that was made without them; hold on to what is given back.

    A declarative pipeline removes the listeners of its session. So the one for actions is in a
    manager of its own, too; that of the session is handed on to the sessions of its queries.
    """
    package = getattr(jvm, _PACKAGE)
    actions = getattr(package, "Listeners$Actions")()
    session.listenerManager().register(actions)
    session.streams().addListener(getattr(package, "Listeners$Queries")())
    conf = session.sessionState().conf()
    own = jvm.org.apache.spark.sql.util.ExecutionListenerManager(session, conf, False)
    own.register(actions)
    return own


def seen_by_listeners(jvm: Java, context: Java) -> Java | None:
    """The queue of what the listeners saw, if a Spark context (`SparkContext`) has them."""
    conf = context.getConf()
    if all(name in str(conf.get(key, "")).split(",") for key, name in _LISTENERS.items()):
        return getattr(jvm, _PACKAGE).Listeners.SEEN
    return None


def _compiled(jvm: Java, loader: Java, cache: Path) -> Path:
    """The folder with the classes, compiled for this version of Spark once."""
    source = files("headwater.capture.jvm").joinpath("Listeners.java").read_text()
    version = str(jvm.org.apache.spark.package.SPARK_VERSION())
    folder = cache / hashlib.sha256(f"{version}\n{source}".encode()).hexdigest()[:16]
    done = folder / "done"
    try:
        if done.exists() and is_own(folder):
            return folder
        make_private(folder / _PACKAGE)
    except OSError as error:
        log.info("headwater: classes cannot be kept in %s: %s", folder, error)
        folder = Path(tempfile.mkdtemp(prefix="headwater-classes-"))
        make_private(folder / _PACKAGE)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    for name, code in compiler.getBytecodes().items():
        path = folder / Path(*str(name).split("."))
        write_private(path.with_name(f"{path.name}.class"), bytes(code))
    write_private(folder / "done", b"")
    return folder
