"""Runs a worker until it is told to stop, or until its JVM is gone."""

import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headwater.capture.classic import Capture
from headwater.http.checks import is_loopback
from headwater.http.connections import ConnectionLimits, protocol
from headwater.openlineage.masking import mask_logs
from headwater.pipeline.observe import observe
from headwater.pipeline.settings import Settings
from headwater.pipeline.worker.access import Keys, check_exposure, guarded
from headwater.pipeline.worker.api import make_app
from headwater.pipeline.worker.host import Worker
from headwater.pipeline.worker.lock import FolderLock, Hold, lease
from headwater.pipeline.worker.store import open_store

_log = logging.getLogger(__name__)
_WATCH_S, _REPORT_S = 1.0, 5.0
_GONE = 70  # the exit status of a worker that cannot go on
_DEFAULTS = {
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# Checkpoints on a local disk are made by Hadoop, which has a umask of its own.
_PRIVATE = {"spark.hadoop.fs.permissions.umask-mode": "077"}
# Enough for the lab with a backlog of 400,000 orders. G1 alone would take 66 MB more for itself.
# Compiled code would grow to 240 MB with new queries, and the heap keep what a backlog needed. In
# segments, code that fills its part leaves the part of the VM itself alone.
_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:MinHeapFreeRatio=30",
    "-XX:MaxHeapFreeRatio=40",
    "-XX:+SegmentedCodeCache",
    "-XX:ReservedCodeCacheSize=112m",
)
_JVM = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": " ".join(_OPTIONS),
    # Details of finished jobs, for a page that is switched off.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "100",
}
# Without a limit a worker takes every core of a standalone cluster, and no job starts beside it.
_CORES = {"spark.cores.max": "2"}


def session(
    master: str, name: str, conf: Mapping[str, str], *, shares_cluster: bool = False
) -> SparkSession:
    """A Spark session with Headwater's defaults under what is configured.

    One that is all on this machine listens on loopback only.
    """
    builder = SparkSession.Builder().master(master).appName(name)
    defaults = {**_DEFAULTS, **(_LOOPBACK if master.startswith("local") else {})}
    if shares_cluster and master.startswith("spark://"):
        defaults |= _CORES
    given = _submitted()
    defaults = {key: value for key, value in defaults.items() if f"{key}=" not in given}
    for key, value in {**defaults, **conf}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    _hush(spark, "org.apache.spark.sql.avro.AvroSerializer")
    return spark


def serve(
    master: str,
    host: str,
    port: int,
    state: str,
    conf: Mapping[str, str],
    *,
    keys: Keys | None = None,
    is_open: bool = False,
) -> None:
    """Serve; SIGTERM and Ctrl-C end the queries first, so that nothing is cut short.

    Raises:
        StateInUse: another worker uses the state.
        StateUnreadable: a stored connector cannot be read.
        UsageError: it would listen beyond loopback without a key.

    """
    check_exposure(host, keys, is_open=is_open)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    for name in ("py4j", "botocore", "boto3"):
        logging.getLogger(name).setLevel(logging.WARNING)
    mask_logs()
    # Definitions hold secrets, checkpoints say what is read: both are for the owner only.
    os.umask(0o077)
    # The server raises the signal again when it has ended; only then are the queries ended.
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    place = state if "://" in state else str(Path(state).absolute())
    held: Hold | None = FolderLock(Path(place)) if "://" not in place else None
    _spare_pandas()
    # Each thread of the JVM would get a part of the heap of C for itself.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    own = {key: value for key, value in _JVM.items() if f"{key}=" not in _submitted()}
    own |= {**_PRIVATE, **conf}
    spark = session(master, "headwater-worker", own, shares_cluster=True)
    store = open_store(spark, place)
    held = held or lease(spark, place, _give_up)
    capture = observe(spark)
    threading.Thread(target=_watch_jvm, args=(spark, capture), name="jvm", daemon=True).start()
    checkpoints = f"{place.replace('s3://', 's3a://')}/checkpoints"
    worker = Worker(spark, Settings.read(os.environ), store, checkpoints)
    try:
        worker.start()
        if not ended.is_set():
            names = frozenset() if is_loopback(host) else frozenset({host})
            uvicorn.run(
                guarded(make_app(worker, f"{host}:{port}"), keys, hosts=names),
                host=host,
                port=port,
                log_config=None,
                log_level="warning",
                access_log=False,
                http=protocol(ConnectionLimits()),
                ws="none",
                timeout_graceful_shutdown=30,
            )
    finally:
        worker.close()
        spark.stop()
        held.release()


def _watch_jvm(spark: SparkSession, capture: Capture | None) -> None:
    """End this process when its JVM is gone: nothing of what it would say is true then."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    never = threading.Event()
    while not never.wait(_WATCH_S):
        if spark.sparkContext._jsc is None:
            return  # it was stopped as it should be
        if process is not None and process.poll() is not None:
            _report(capture)
            _give_up(f"the JVM has ended with status {process.returncode}")
        if process is None:
            try:
                spark._jvm.java.lang.System.nanoTime()  # type: ignore[union-attr]
            except Py4JError:
                _give_up("the JVM does not answer any more")


def _report(capture: Capture | None) -> None:
    """Let capture end the runs that the JVM has taken with it, if that is quick."""
    if capture is not None:
        last = threading.Thread(target=capture.detach, name="last report", daemon=True)
        last.start()
        last.join(_REPORT_S)


def _give_up(reason: str) -> None:
    _log.error("%s; the worker ends, and goes on from its state when it is started again", reason)
    logging.shutdown()
    os._exit(_GONE)


def _spare_pandas() -> None:
    """Load pyspark's test tools without pandas and pyarrow, which take 75 MB.

    For each literal and each argument of a call pyspark asks them whether NumPy is installed.
    """
    hidden = [name for name in ("pandas", "pyarrow") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # none: not found
    try:
        importlib.import_module("pyspark.testing.utils")
    finally:
        for name in hidden:
            del sys.modules[name]


def _hush(spark: SparkSession, logger: str) -> None:
    """Pass over a warning that each batch would repeat: a made-up value is never null."""
    log4j: Any = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    log4j.core.config.Configurator.setLevel(logger, log4j.Level.ERROR)


def _submitted() -> str:
    """What the environment tells spark-submit; it may name any key."""
    return os.environ.get("PYSPARK_SUBMIT_ARGS", "")
