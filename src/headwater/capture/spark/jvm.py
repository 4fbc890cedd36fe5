"""Small readings of JVM objects over py4j; each returns plain Python values."""

import re
from typing import Any

from py4j.java_collections import JavaMap
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

Java = Any

# What Spark says of the jobs that run while its context is ended, as by a signal.
CONTEXT_ENDED = "SparkContext was shut down"


def class_name(thing: Java) -> str:
    """The simple class name of a JVM object."""
    return str(thing.getClass().getName()).rpartition(".")[2].rstrip("$")


def option(value: Java) -> Java | None:
    """What a Scala Option holds."""
    return value.get() if value is not None and value.isDefined() else None


def seq(values: Java) -> list[Java]:
    """A Scala sequence as a list."""
    return [values.apply(index) for index in range(values.size())]


def string_map(options: Java) -> dict[str, str]:
    """A Scala or Java map of strings, with its keys in lower case."""
    if options is None:
        return {}
    if isinstance(options, JavaMap):
        return {str(key).lower(): str(value) for key, value in options.items()}
    pairs = seq(options.toSeq())
    return {str(pair._1()).lower(): str(pair._2()) for pair in pairs}


def scala_object(jvm: Java, name: str) -> Java | None:
    """An object of Scala, by the name of its class; None if there is none."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        return scala_object_of(loader, name)
    except (Py4JError, PySparkException):
        return None


def scala_object_of(loader: Java, name: str) -> Java:
    """An object of Scala whose class a class loader has."""
    return loader.loadClass(f"{name}$").getField("MODULE$").get(None)


def private_field(thing: Java, name: str) -> Java:
    """A field that Scala keeps private, by reflection; None if there is no such field."""
    kind = thing.getClass()
    while kind is not None:
        for field in kind.getDeclaredFields():
            if field.getName() == name:
                field.setAccessible(True)
                return field.get(thing)
        kind = kind.getSuperclass()
    return None


def call(thing: Java, *path: str) -> Java | None:
    """A chain of calls without arguments; None if there is no such method, or it raises."""
    for name in path:
        if thing is None:
            return None
        try:
            thing = getattr(thing, name)()
        except (Py4JError, PySparkException):
            return None
    return thing


def attempt(thing: Java, method: str, *arguments: Java) -> Java | None:
    """A call with arguments; None if there is no such thing, or it raises."""
    if thing is None:
        return None
    try:
        return getattr(thing, method)(*arguments)
    except (Py4JError, PySparkException):
        return None


def message(error: Java) -> str:
    """The first line of what a JVM exception says, without the plan that Spark appends."""
    text = str(error.getMessage() or error.toString())
    return re.split(r"\n\s*(?:at |=== |'|\+- )", text, maxsplit=1)[0].strip()


def stack_trace(error: Java, limit: int = 8_000) -> str:
    """The stack trace of a JVM exception, shortened."""
    lines = [str(error.toString()), *(f"\tat {line.toString()}" for line in error.getStackTrace())]
    return "\n".join(lines)[:limit]
