"""Options of spark-submit: which application they are for, and what they say about it."""

import zipfile
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headwater.errors import UsageError

# Options of spark-submit that take no value; every other one takes one.
_FLAGS = frozenset({"--verbose", "-v", "--supervise", "--version", "--help", "-h"})
# What spark-submit calls an application that is part of Spark itself.
_NO_JAR = "spark-internal"


class JvmApplication(NamedTuple):
    """A main class, spark-submit's options for its JVM, its arguments, and a name for it."""

    main_class: str
    options: list[str]
    arguments: list[str]
    name: str


class Option(NamedTuple):
    """An option of spark-submit, and the words that wrote it."""

    name: str
    value: str
    words: list[str]


def split_submit(arguments: list[str]) -> tuple[list[str], list[str]]:
    """spark-submit's own options, and the application with its arguments."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        alone = arguments[position] in _FLAGS or "=" in arguments[position]
        position += 1 if alone else 2
    return arguments[:position], arguments[position:]


def deploy_mode(options: list[str]) -> str:
    """Where spark-submit's options have the driver run: `client` unless they say otherwise."""
    given = [option.value for option in parsed(options) if option.name == "--deploy-mode"]
    return given[-1] if given else conf_of(options)[0].get("spark.submit.deployMode", "client")


def jvm_application(options: list[str], application: list[str]) -> JvmApplication:
    """The JVM application that arguments of spark-submit name: a class, and mostly a jar.

    Raises:
        UsageError: there is no main class.

    """
    classes = [option.value for option in parsed(options) if option.name == "--class"]
    others = [w for option in parsed(options) if option.name != "--class" for w in option.words]
    jar, *arguments = application or [_NO_JAR]
    main_class = classes[-1] if classes else _main_class(jar)
    if not main_class:
        raise UsageError(
            "there is no application to run",
            hint="Name a Python file, or a jar and its main class: --class com.example.Main my.jar",
        )
    if jar != _NO_JAR:
        conf, others = conf_of(others)
        conf["spark.jars"] = ",".join(filter(None, [jar, conf.get("spark.jars", "")]))
        others += conf_options(conf)
    return JvmApplication(main_class, others, arguments, main_class)


def conf_options(conf: Mapping[str, str]) -> list[str]:
    """A configuration as options of spark-submit."""
    return [part for pair in conf.items() for part in ("--conf", "=".join(pair))]


def conf_of(options: list[str]) -> tuple[dict[str, str], list[str]]:
    """The configuration among options, `--jars` included, and the others."""
    conf: dict[str, str] = {}
    others: list[str] = []
    for option in parsed(options):
        if option.name == "--jars":
            conf["spark.jars"] = option.value
        elif option.name in ("--conf", "-c"):
            key, _, setting = option.value.partition("=")
            conf[key] = setting
        else:
            others += option.words
    return conf, others


def parsed(options: list[str]) -> Iterator[Option]:
    """Each option with its value, whether it is written `--name value` or `--name=value`."""
    position = 0
    while position < len(options):
        name, equals, value = options[position].partition("=")
        alone = bool(equals) or options[position] in _FLAGS
        words = options[position : position + (1 if alone else 2)]
        position += len(words)
        yield Option(name, value if alone else "".join(words[1:]), words)


def _main_class(jar: str) -> str:
    """The main class that a jar names itself."""
    try:
        with zipfile.ZipFile(jar) as archive:
            manifest = archive.read("META-INF/MANIFEST.MF").decode(errors="replace")
    except (OSError, KeyError, zipfile.BadZipFile):
        return ""
    lines = manifest.replace("\r\n", "\n").replace("\n ", "").splitlines()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("Main-Class:")]
    return named[0] if named else ""
