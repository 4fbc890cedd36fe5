"""How a job runs on its own: under spark-submit, or from `headwater job run`."""

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headwater.errors import HeadwaterError, JobInterrupted, PipelineError
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.hosting import Task
from headwater.pipeline.jobs.catalog import Job, job
from headwater.pipeline.observe import observe
from headwater.pipeline.settings import Settings, names
from headwater.pipeline.states import State

_POLL_S = 0.5
_CANCEL_S = 10.0  # time for a batch job to end after a signal
_JVM_GONE = (Py4JError, OSError)


def main(name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a job with options and the environment, on the session that spark-submit gives."""
    parser = argparse.ArgumentParser(prog=name, description=job(name).about)
    for field, variables in names().items():
        option = f"--{field.replace('_', '-')}"
        parser.add_argument(option, default=None, help=f"or {', '.join(variables)}")
    settings = Settings.read(os.environ, **vars(parser.parse_args(arguments)))
    builder = SparkSession.builder.appName(settings.job_name or name)
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    try:
        run(job(name), spark, settings)
    except HeadwaterError as error:
        sys.stderr.write(f"error: {error.message}\n  {error.hint}\n")
        sys.exit(error.exit_code)


class StopSignal(threading.Event):
    """Set when SIGTERM or Ctrl-C asks for the end."""

    def __init__(self) -> None:
        super().__init__()
        self.number: signal.Signals | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._received)

    def _received(self, number: int, _frame: object) -> None:
        self.number = signal.Signals(number)
        self.set()


def _is_not_of_gateway(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"  # which logs as the root logger


def run(one: Job, spark: SparkSession, settings: Settings, *, observed: bool = True) -> None:
    """Run a batch job to its end, a streaming one until a signal, and stop the session.

    Raises:
        JobInterrupted: a signal ended a batch job.
        PipelineError: the streaming query failed.

    """
    stop = StopSignal()  # after the session, which has a handler of its own for Ctrl-C
    # py4j logs a trace for each call that a JVM's end interrupts, and raises it as well. A signal
    # to the process group ends the JVM, often before Python has called its own handler.
    logging.getLogger().addFilter(_is_not_of_gateway)
    if observed:
        observe(spark)
    try:
        if one.run:
            _run_batch(one.name, partial(one.run, spark, settings), spark, stop)
        else:
            _run_stream(one, spark, settings, stop)
    finally:
        with suppress(*_JVM_GONE):
            spark.stop()


def _run_batch(
    name: str, action: Callable[[], None], spark: SparkSession, stop: StopSignal
) -> None:
    done: Future[None] = Future()

    def work() -> None:
        try:
            action()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    # In a thread of its own: a call to the JVM cannot be interrupted, only what it waits for.
    threading.Thread(target=work, daemon=True).start()
    while not stop.is_set() and not done.done():
        wait([done], _POLL_S)
    until = time.monotonic() + _CANCEL_S
    while stop.is_set() and not done.done() and time.monotonic() < until:
        with suppress(*_JVM_GONE):
            spark.sparkContext.cancelAllJobs()
        wait([done], _POLL_S)
    if stop.number is not None and not (done.done() and done.exception() is None):
        raise JobInterrupted(name, stop.number)
    done.result()


def _run_stream(one: Job, spark: SparkSession, settings: Settings, stop: StopSignal) -> None:
    checkpoint = f"{settings.checkpoints.rstrip('/')}/{one.name}"
    task = Task(one.flow(PipelineContext(spark, settings)), checkpoint)
    task.start()
    # Stopping a query inside a signal's handler breaks the call that waits: poll instead.
    while not stop.wait(_POLL_S) and task.state is not State.FAILED:
        task.poll()
    with suppress(*(_JVM_GONE if stop.is_set() else ())):
        task.stop()
    if task.state is State.FAILED and not stop.is_set():
        raise PipelineError(f"{one.name} failed: {task.trace}", hint="Run it again to continue")
