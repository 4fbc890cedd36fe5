"""`headwater run` and `headwater submit`: an application under capture, unchanged."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from headwater.cli.extras import needs
from headwater.cli.help import Command
from headwater.errors import SparkMissing, StackExtraMissing, UsageError

# Options of spark-submit that take no value; every other one takes one.
_FLAGS = frozenset({"--verbose", "-v", "--supervise", "--version", "--help", "-h"})
_JAR = "HEADWATER_OFFICIAL_JAR"
_CONFIGURED = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__", "OPENLINEAGE_DISABLED")
_CONFIGURED_IN_SPARK = ("spark.headwater.url=", "spark.openlineage.transport.")
_PASS_ON = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


class Listener(StrEnum):
    """Who observes the application."""

    headwater = "headwater"
    official = "official"


class _Option(NamedTuple):
    """An option of spark-submit, and the words that wrote it."""

    name: str
    value: str
    words: list[str]


Url = Annotated[
    str | None,
    typer.Option(
        help="Lineage server.",
        show_default="OPENLINEAGE_URL or openlineage.yml, else the running platform",
    ),
]
Namespace = Annotated[str | None, typer.Option(help="Namespace of jobs.")]
Who = Annotated[
    Listener, typer.Option(help="Capture with Headwater, or with OpenLineage's official listener.")
]


def run(
    context: typer.Context,
    app: Annotated[
        Path, typer.Argument(help="Python file of the application, followed by its arguments.")
    ],
    url: Url = None,
    namespace: Namespace = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run a PySpark application with capture, without changing it."""
    if not app.is_file():
        raise UsageError(f"{app} is not a file", hint="Name a Python file: headwater run app.py")
    jar = jar_of_official() if listener is Listener.official else ""
    _require_spark()
    environ = _environment(url, namespace)
    if jar:
        environ[_JAR] = jar
    command = [sys.executable, "-m", "headwater.capture.bootstrap", str(app), *context.args]
    os.execve(sys.executable, command, environ)  # noqa: S606 - the process becomes the application


def submit(
    context: typer.Context,
    url: Url = None,
    namespace: Namespace = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run spark-submit with capture. All other options and arguments go to spark-submit."""
    jar = jar_of_official() if listener is Listener.official else ""
    _require_spark()
    options, application = split_submit(context.args)
    environ = _environment(url, namespace, options)
    if jar:
        arguments = [*with_official(options, jar, environ), *application]
    else:
        if not application or not application[0].endswith(".py"):
            raise UsageError(
                "capture needs a Python application",
                hint="For a jar use --listener official, which runs inside the JVM",
            )
        if deploy_mode(options) == "cluster":
            raise UsageError(
                "in cluster mode the driver runs on another machine, where capture is not started",
                hint="Use --deploy-mode client, or call headwater.attach(spark) in the application",
            )
        from headwater.capture import bootstrap

        arguments = [*options, str(Path(bootstrap.__file__)), *application]
    binary = _spark_submit()
    os.execve(binary, [binary, *arguments], environ)  # noqa: S606


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (run, submit):
        app.command(rich_help_panel="Capture", cls=Command, context_settings=_PASS_ON)(
            needs(StackExtraMissing)(command)
        )


def split_submit(arguments: list[str]) -> tuple[list[str], list[str]]:
    """spark-submit's own options, and the application with its arguments."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        alone = arguments[position] in _FLAGS or "=" in arguments[position]
        position += 1 if alone else 2
    return arguments[:position], arguments[position:]


def deploy_mode(options: list[str]) -> str:
    """Where spark-submit's options have the driver run: `client` unless they say otherwise."""
    given = [option.value for option in _parsed(options) if option.name == "--deploy-mode"]
    return given[-1] if given else _conf_of(options)[0].get("spark.submit.deployMode", "client")


def with_official(options: list[str], jar: str, environ: dict[str, str]) -> list[str]:
    """spark-submit's options with OpenLineage's listener, beside the jars that are there."""
    from headwater.capture.official import with_listener

    conf, others = _conf_of(options)
    merged = with_listener(conf, jar, environ)
    return [*others, *(part for pair in merged.items() for part in ("--conf", "=".join(pair)))]


def jar_of_official() -> str:
    """The jar of OpenLineage's listener: one that is named, else that of the lock."""
    named = os.environ.get(_JAR)
    if named:
        return named
    from headwater.stack import Settings, official_jar

    return str(official_jar(Settings.read(os.environ)))


def _conf_of(options: list[str]) -> tuple[dict[str, str], list[str]]:
    """The configuration among options, `--jars` included, and the others."""
    conf: dict[str, str] = {}
    others: list[str] = []
    for option in _parsed(options):
        if option.name == "--jars":
            conf["spark.jars"] = option.value
        elif option.name in ("--conf", "-c"):
            key, _, setting = option.value.partition("=")
            conf[key] = setting
        else:
            others += option.words
    return conf, others


def _parsed(options: list[str]) -> Iterator[_Option]:
    """Each option with its value, whether it is written `--name value` or `--name=value`."""
    position = 0
    while position < len(options):
        name, equals, value = options[position].partition("=")
        alone = bool(equals) or options[position] in _FLAGS
        words = options[position : position + (1 if alone else 2)]
        position += len(words)
        yield _Option(name, value if alone else "".join(words[1:]), words)


def _environment(
    url: str | None, namespace: str | None, options: Iterable[str] = ()
) -> dict[str, str]:
    environ = dict(os.environ)
    environ.pop(_JAR, None)
    # Spark would take whatever `python3` is, which may lack what the application needs.
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    url = url or _of_platform(environ, options)
    if url:
        environ["OPENLINEAGE_URL"] = url
    if namespace:
        environ["OPENLINEAGE_NAMESPACE"] = namespace
    return environ


def _of_platform(environ: dict[str, str], options: Iterable[str]) -> str:
    """The server of the platform that is up, where nothing else says where events go."""
    from headwater.cli.output import note
    from headwater.cli.platform import platform_address

    files = (Path("openlineage.yml"), Path.home() / ".openlineage" / "openlineage.yml")
    if (
        any(name.startswith(_CONFIGURED) for name in environ)
        or any(setting in option for option in options for setting in _CONFIGURED_IN_SPARK)
        or any(file.exists() for file in files)
    ):
        return ""
    address = platform_address("server")
    if address:
        note(f"lineage is sent to {address}, the running platform")
    return address


def _require_spark() -> None:
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        raise SparkMissing


def _spark_submit() -> str:
    import pyspark

    bundled = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    home = os.environ.get("SPARK_HOME")
    if home:
        return str(Path(home) / "bin" / "spark-submit")
    return str(bundled) if bundled.exists() else (shutil.which("spark-submit") or "spark-submit")
