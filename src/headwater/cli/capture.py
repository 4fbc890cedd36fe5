"""`headwater run` and `headwater submit`: an application under capture, unchanged."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from headwater.cli.extras import needs
from headwater.cli.help import Command
from headwater.cli.submit import (
    JvmApplication,
    conf_of,
    conf_options,
    deploy_mode,
    jvm_application,
    parsed,
    split_submit,
)
from headwater.errors import SparkMissing, StackExtraMissing, UsageError

_SPECS = frozenset({".yml", ".yaml"})
_JAR = "HEADWATER_OFFICIAL_JAR"
_SQL = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"
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


Url = Annotated[
    str | None,
    typer.Option(
        help="Address of the lineage server.",
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
        Path,
        typer.Argument(
            help="Python file of the application, or spec of a declarative pipeline "
            "(spark-pipeline.yml), followed by its arguments."
        ),
    ],
    url: Url = None,
    namespace: Namespace = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run a PySpark application or a declarative pipeline with capture, without changing it."""
    if not app.is_file():
        raise UsageError(f"{app} is not a file", hint="Name a Python file: headwater run app.py")
    jar = jar_of_official() if listener is Listener.official else ""
    _require_spark()
    environ = _environment(url, namespace)
    if jar:
        environ[_JAR] = jar
    if app.suffix in _SPECS and "SPARK_REMOTE" not in environ:
        # As spark-pipelines: a Spark Connect server in the same process, unless one is named.
        environ["SPARK_API_MODE"] = "connect"
        environ.setdefault("MASTER", "local[*]")
    command = [sys.executable, "-m", "headwater.capture.bootstrap", str(app), *context.args]
    os.execve(sys.executable, command, environ)  # noqa: S606 - the process becomes the application


def submit(
    context: typer.Context,
    url: Url = None,
    namespace: Namespace = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run spark-submit with capture. Other options, and all arguments, go to spark-submit.

    The application is a Python file, or a jar and its main class: --class com.example.Main my.jar.
    """
    jar = jar_of_official() if listener is Listener.official else ""
    _require_spark()
    options, application = split_submit(context.args)
    environ = _environment(url, namespace, options)
    if jar:
        _run_spark_submit([*with_official(options, jar, environ), *application], environ)
    if deploy_mode(options) == "cluster":
        raise UsageError(
            "in cluster mode the driver runs on another machine, where capture is not started",
            hint="Use --deploy-mode client, or call headwater.attach(spark) in the application",
        )
    if application and application[0].endswith(".py"):
        from headwater.capture import bootstrap

        _run_spark_submit([*options, str(Path(bootstrap.__file__)), *application], environ)
    _run_in_jvm(jvm_application(options, application), environ)


def sql(context: typer.Context, url: Url = None, namespace: Namespace = None) -> None:
    """Run a file of SQL statements with capture, as spark-sql does.

    Options of spark-submit go before the file, those of spark-sql after it:
    headwater sql --master local[2] daily.sql --hivevar day=2026-03-02.
    """
    _require_spark()
    options, application = split_submit(context.args)
    if not application or not Path(application[0]).is_file():
        raise UsageError(
            f"{application[0] if application else 'nothing'} is not a file",
            hint="Name a file of SQL statements: headwater sql daily.sql",
        )
    environ = _environment(url, namespace, options)
    file, *arguments = application
    _run_in_jvm(JvmApplication(_SQL, options, ["-f", file, *arguments], Path(file).stem), environ)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (run, submit, sql):
        app.command(rich_help_panel="Capture", cls=Command, context_settings=_PASS_ON)(
            needs(StackExtraMissing)(command)
        )


def _run_in_jvm(application: JvmApplication, environ: dict[str, str]) -> NoReturn:
    """Become the process that runs a JVM application."""
    words = [*application.options]
    if not any(option.name == "--name" for option in parsed(words)):
        words += ["--name", application.name]
    environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*words, "pyspark-shell"])
    module = "headwater.capture.jvm"
    command = [sys.executable, "-m", module, application.main_class, *application.arguments]
    os.execve(sys.executable, command, environ)  # noqa: S606


def _run_spark_submit(arguments: list[str], environ: dict[str, str]) -> NoReturn:
    binary = _spark_submit()
    os.execve(binary, [binary, *arguments], environ)  # noqa: S606


def with_official(options: list[str], jar: str, environ: dict[str, str]) -> list[str]:
    """spark-submit's options with OpenLineage's listener, beside the jars that are there."""
    from headwater.capture.official import with_listener

    conf, others = conf_of(options)
    merged = with_listener(conf, jar, environ)
    return [*others, *conf_options(merged)]


def jar_of_official() -> str:
    """The jar of OpenLineage's listener: one that is named, else that of the lock."""
    named = os.environ.get(_JAR)
    if named:
        return named
    from headwater.stack import Settings, official_jar

    return str(official_jar(Settings.read(os.environ)))


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
