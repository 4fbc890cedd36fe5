"""`headwater run` and `headwater submit`: an application under capture, unchanged."""

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.help import Command
from headwater.errors import SparkMissing, UsageError

# Options of spark-submit that take no value; every other one takes one.
_FLAGS = frozenset({"--verbose", "-v", "--supervise", "--version", "--help", "-h"})
_JAR = "HEADWATER_OFFICIAL_JAR"
_PASS_ON = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


class Listener(StrEnum):
    """Who observes the application."""

    headwater = "headwater"
    official = "official"


Url = Annotated[str | None, typer.Option(help="Lineage server. Else OPENLINEAGE_URL.")]
Namespace = Annotated[str | None, typer.Option(help="Namespace of jobs.")]
Who = Annotated[
    Listener, typer.Option(help="Observe with Headwater, or with OpenLineage's own listener.")
]


def run(
    context: typer.Context,
    app: Annotated[Path, typer.Argument(help="A Python file; what follows are its arguments.")],
    url: Url = None,
    namespace: Namespace = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run a PySpark application and capture its lineage; the application is not changed."""
    if not app.is_file():
        raise UsageError(f"{app} is not a file", hint="Name a Python file: headwater run app.py")
    _require_spark()
    environ = _environment(url, namespace)
    if listener is Listener.official:
        environ[_JAR] = jar_of_official()
    command = [sys.executable, "-m", "headwater.capture.bootstrap", str(app), *context.args]
    os.execve(sys.executable, command, environ)  # noqa: S606 - the process becomes the application


def submit(
    context: typer.Context,
    url: Url = None,
    namespace: Namespace = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run spark-submit with capture; everything after the options is spark-submit's own."""
    _require_spark()
    options, application = split_submit(context.args)
    environ = _environment(url, namespace)
    if listener is Listener.official:
        arguments = [*with_official(options, jar_of_official(), environ), *application]
    else:
        if not application or not application[0].endswith(".py"):
            raise UsageError(
                "capture needs a Python application",
                hint="For a jar use --listener official, which runs inside the JVM",
            )
        if "cluster" in options:
            raise UsageError(
                "in cluster mode the driver runs elsewhere, where capture is not started",
                hint="Use --deploy-mode client, or call headwater.attach(spark) in the application",
            )
        from headwater.capture import bootstrap

        arguments = [*options, str(Path(bootstrap.__file__)), *application]
    binary = _spark_submit()
    os.execve(binary, [binary, *arguments], environ)  # noqa: S606


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (run, submit):
        app.command(rich_help_panel="Capture", cls=Command, context_settings=_PASS_ON)(command)


def split_submit(arguments: list[str]) -> tuple[list[str], list[str]]:
    """spark-submit's own options, and the application with its arguments."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        alone = arguments[position] in _FLAGS or "=" in arguments[position]
        position += 1 if alone else 2
    return arguments[:position], arguments[position:]


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
    position = 0
    while position < len(options):
        name, equals, value = options[position].partition("=")
        alone = bool(equals) or options[position] in _FLAGS
        taken = options[position : position + (1 if alone else 2)]
        position += len(taken)
        if name == "--jars":
            conf["spark.jars"] = value or taken[-1]
        elif name in ("--conf", "-c"):
            key, _, setting = (value or taken[-1]).partition("=")
            conf[key] = setting
        else:
            others += taken
    return conf, others


def _environment(url: str | None, namespace: str | None) -> dict[str, str]:
    environ = dict(os.environ)
    environ.pop(_JAR, None)
    # Spark would take whatever `python3` is, which may lack what the application needs.
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if url:
        environ["OPENLINEAGE_URL"] = url
    if namespace:
        environ["OPENLINEAGE_NAMESPACE"] = namespace
    return environ


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
