"""Puts listeners of our own into a JVM, before it has a session.

Spark makes the listeners that its configuration names for each session that it makes. So nothing
is missed: no session that lives for a moment only, and no query that is over before someone asks.
"""

import hashlib
import logging
import tempfile
import threading
from importlib.resources import files
from pathlib import Path

from py4j.protocol import Py4JJavaError

from headwater.capture.folders import is_own, make_private, write_private
from headwater.capture.spark.jvm import Java

log = logging.getLogger("headwater.capture")

_PACKAGE = "headwater"
_NAME_AND_CODE = 4  # parameters: the name of a class, its code, and from where to where that is
_loading = threading.Lock()
_LISTENERS = {
    "spark.sql.queryExecutionListeners": f"{_PACKAGE}.Listeners$Actions",
    "spark.sql.streaming.streamingQueryListeners": f"{_PACKAGE}.Listeners$Queries",
    "spark.extraListeners": f"{_PACKAGE}.Listeners$Jobs,{_PACKAGE}.Listeners$Checkpoints",
}


def install(jvm: Java, cache: Path) -> None:
    """Have Spark make the listeners for every session from now on; `cache` keeps their classes."""
    load(jvm, cache)
    system = jvm.java.lang.System
    for key, names in _LISTENERS.items():
        others = system.getProperty(key)
        system.setProperty(key, f"{others},{names}" if others else names)


def load(jvm: Java, cache: Path) -> Java:
    """Load the classes of the listeners, and give the queue of what they see.

    Spark looks for them from whichever thread makes a session, and a server's threads have class
    loaders of their own. All of them ask the loader of Spark itself.
    """
    loader = jvm.java.lang.Class.forName("org.apache.spark.SparkContext").getClassLoader()
    with _loading:
        try:
            loader.loadClass(f"{_PACKAGE}.Listeners")
        except Py4JJavaError:
            _define(jvm, loader, _compiled(jvm, loader, cache))
    return getattr(jvm, _PACKAGE).Listeners.SEEN


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


def register_for_checkpoints(jvm: Java, context: Java) -> None:
    """Put the listener for checkpoints into a context that was made without it."""
    context.addSparkListener(getattr(getattr(jvm, _PACKAGE), "Listeners$Checkpoints")())


def seen_by_listeners(jvm: Java, context: Java) -> Java | None:
    """The queue of what the listeners saw, if a Spark context (`SparkContext`) has them."""
    conf = context.getConf()
    if all(names in str(conf.get(key, "")) for key, names in _LISTENERS.items()):
        return getattr(jvm, _PACKAGE).Listeners.SEEN
    return None


def _define(jvm: Java, loader: Java, folder: Path) -> None:
    """Put classes into a class loader, by a method that Spark has Java open to everyone."""
    methods = jvm.java.lang.Class.forName("java.lang.ClassLoader").getDeclaredMethods()
    define = next(
        method
        for method in methods
        if method.getName() == "defineClass" and method.getParameterCount() == _NAME_AND_CODE
    )
    define.setAccessible(True)
    for path in sorted((folder / _PACKAGE).glob("*.class")):  # the outer one comes last
        arguments, code = jvm.java.util.ArrayList(), path.read_bytes()
        for argument in (f"{_PACKAGE}.{path.stem}", code, 0, len(code)):
            arguments.add(argument)
        define.invoke(loader, arguments.toArray())


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
