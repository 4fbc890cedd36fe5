"""Puts classes of our own into Spark's JVM, compiled by the compiler that Spark uses for queries.

Spark looks for listeners from whichever thread makes a session, and a server's threads have class
loaders of their own. All of them ask the loader of Spark itself.
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

PACKAGE = "headwater"
_NAME_AND_CODE = 4  # parameters: the name of a class, its code, and from where to where that is
_loading = threading.Lock()


def load_class(jvm: Java, name: str, cache: Path) -> Java:
    """A class that is written in `NAME.java`; `cache` keeps what was compiled."""
    loader = jvm.java.lang.Class.forName("org.apache.spark.SparkContext").getClassLoader()
    with _loading:
        try:
            loader.loadClass(f"{PACKAGE}.{name}")
        except Py4JJavaError:
            _define(jvm, loader, _compiled(jvm, loader, name, cache))
    return getattr(getattr(jvm, PACKAGE), name)


def _define(jvm: Java, loader: Java, folder: Path) -> None:
    """Put classes into a class loader, by a method that Spark has Java open to everyone."""
    methods = jvm.java.lang.Class.forName("java.lang.ClassLoader").getDeclaredMethods()
    define = next(
        method
        for method in methods
        if method.getName() == "defineClass" and method.getParameterCount() == _NAME_AND_CODE
    )
    define.setAccessible(True)
    for path in sorted((folder / PACKAGE).glob("*.class")):  # the outer one comes last
        arguments, code = jvm.java.util.ArrayList(), path.read_bytes()
        for argument in (f"{PACKAGE}.{path.stem}", code, 0, len(code)):
            arguments.add(argument)
        define.invoke(loader, arguments.toArray())


def _compiled(jvm: Java, loader: Java, name: str, cache: Path) -> Path:
    """The folder with the classes, compiled for this version of Spark once."""
    source = files("headwater.capture.jvm").joinpath(f"{name}.java").read_text()
    version = str(jvm.org.apache.spark.package.SPARK_VERSION())
    folder = cache / hashlib.sha256(f"{version}\n{source}".encode()).hexdigest()[:16]
    done = folder / "done"
    try:
        if done.exists() and is_own(folder):
            return folder
        make_private(folder / PACKAGE)
    except OSError as error:
        log.info("headwater: classes cannot be kept in %s: %s", folder, error)
        folder = Path(tempfile.mkdtemp(prefix="headwater-classes-"))
        make_private(folder / PACKAGE)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    for compiled, code in compiler.getBytecodes().items():
        path = folder / Path(*str(compiled).split("."))
        write_private(path.with_name(f"{path.name}.class"), bytes(code))
    write_private(folder / "done", b"")
    return folder
