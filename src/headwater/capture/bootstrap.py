"""Runs an application unchanged, with capture attached to each Spark session that it makes.

`headwater run` and `headwater submit` start Python with this module in front of the
application. The process is the application's own: its arguments, exit code and signals.
"""

import os
import runpy
import sys
from functools import wraps
from pathlib import Path
from typing import Any

from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.official import with_listener

# Specs of declarative pipelines.
SPECS = frozenset({".yml", ".yaml"})


def observe_sessions() -> None:
    """From now on, attach to every session that is built, or made from a context."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the user's Spark, or none at all

    from headwater.capture.attach import attach  # noqa: PLC0415

    builder: Any = SparkSession.Builder
    kind: Any = SparkSession
    original, initialize, barrier = builder.getOrCreate, kind.__init__, FaultBarrier()

    @wraps(original)
    def get_or_create(self: Any) -> SparkSession:
        session: SparkSession = original(self)
        barrier.run("attaching to a session", lambda: attach(session))
        return session

    @wraps(initialize)
    def init(self: Any, *arguments: Any, **more: Any) -> None:
        initialize(self, *arguments, **more)
        barrier.run("attaching to a session", lambda: attach(self))

    builder.getOrCreate = get_or_create
    kind.__init__ = init


def install_official(jar: str) -> None:
    """From now on, give every session that is built OpenLineage's own listener."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder: Any = SparkSession.Builder
    original = builder.getOrCreate

    @wraps(original)
    def get_or_create(self: Any) -> SparkSession:
        # Beside the application's own jars: the listener looks into Iceberg's classes.
        conf = {key: str(value) for key, value in self._options.items()}
        for key, value in with_listener(conf, jar, os.environ).items():
            self.config(key, value)
        session: SparkSession = original(self)
        return session

    builder.getOrCreate = get_or_create


def run_application(path: str, arguments: list[str]) -> None:
    """Run a Python file as the main program; how it ends goes through `sys.exit`, to be seen."""
    sys.argv = [path, *arguments]
    sys.path[0] = str(Path(path).resolve().parent)
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        sys.exit(end.code)
    sys.exit()


def run_pipeline(spec: str, arguments: list[str]) -> None:
    """Run a declarative pipeline as `spark-pipelines run` does, named by its spec."""
    from pyspark.pipelines import cli  # noqa: PLC0415 - new in Spark 4.1

    sys.argv = ["spark-pipelines", "run", "--spec", spec, *arguments]
    os.environ.setdefault("HEADWATER_APP_NAME", cli.load_pipeline_spec(Path(spec)).name)
    cli.main()


def main() -> None:
    """`python -m headwater.capture.bootstrap app.py …`, or a pipeline's spec"""
    jar = os.environ.get("HEADWATER_OFFICIAL_JAR")
    if jar:
        FaultBarrier().run("installing OpenLineage's listener", lambda: install_official(jar))
    else:
        FaultBarrier().run("observing sessions", observe_sessions)
    run = run_pipeline if Path(sys.argv[1]).suffix in SPECS else run_application
    run(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    main()
