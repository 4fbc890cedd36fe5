"""How a job runs on its own: under spark-submit, or from `headwater job run`."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

from pyspark.sql import SparkSession

from headwater.errors import HeadwaterError, PipelineError
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.hosting import Task
from headwater.pipeline.jobs.catalog import Job, job
from headwater.pipeline.observe import observe
from headwater.pipeline.settings import Settings, names
from headwater.pipeline.states import State

_POLL_S = 0.5


def main(name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a job with options and the environment, on the session that spark-submit gives."""
    parser = argparse.ArgumentParser(prog=name, description=job(name).about)
    for field, variables in names().items():
        option = f"--{field.replace('_', '-')}"
        parser.add_argument(option, default=None, help=f"or {', '.join(variables)}")
    settings = Settings.read(os.environ, **vars(parser.parse_args(arguments)))
    builder = SparkSession.builder.appName(settings.job_name or name)
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    observe(spark)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        run(job(name), spark, settings, ended)
    except HeadwaterError as error:
        sys.exit(f"error: {error.message}\n  {error.hint}")
    finally:
        spark.stop()


def run(one: Job, spark: SparkSession, settings: Settings, ended: threading.Event) -> None:
    """Run a batch job to its end, a streaming one until told to end.

    Raises:
        PipelineError: the streaming query failed.

    """
    if one.run:
        one.run(spark, settings)
        return
    checkpoint = f"{settings.checkpoints.rstrip('/')}/{one.name}"
    task = Task(one.flow(PipelineContext(spark, settings)), checkpoint)
    task.start()
    # Stopping a query inside a signal's handler breaks the call that waits: poll instead.
    while not ended.wait(_POLL_S) and task.state is not State.FAILED:
        task.poll()
    task.stop()
    if task.state is State.FAILED:
        raise PipelineError(f"{one.name} failed: {task.trace}", hint="Run it again to continue")
