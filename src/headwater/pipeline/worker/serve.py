"""Runs a worker until it is told to stop."""

import logging
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from pyspark.sql import SparkSession

from headwater.openlineage.masking import mask_logs
from headwater.pipeline.observe import observe
from headwater.pipeline.settings import Settings
from headwater.pipeline.worker.api import make_app
from headwater.pipeline.worker.host import Worker
from headwater.pipeline.worker.shelf import shelf

_DEFAULTS = {
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(master: str, name: str, conf: Mapping[str, str]) -> SparkSession:
    """A Spark session with Headwater's defaults under what is configured."""
    builder = SparkSession.Builder().master(master).appName(name)
    for key, value in {**_DEFAULTS, **conf}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    _hush(spark, "org.apache.spark.sql.avro.AvroSerializer")
    return spark


def _hush(spark: SparkSession, logger: str) -> None:
    """Pass over a warning that each batch would repeat: a made-up value is never null."""
    log4j: Any = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    log4j.core.config.Configurator.setLevel(logger, log4j.Level.ERROR)


def serve(master: str, host: str, port: int, state: str, conf: Mapping[str, str]) -> None:
    """Serve; SIGTERM and Ctrl-C end the queries first, so that nothing is cut short."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    mask_logs()
    # The server raises the signal again when it has ended; only then are the queries ended.
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    spark = session(master, "headwater-worker", conf)
    observe(spark)
    place = state if "://" in state else str(Path(state).absolute())
    checkpoints = f"{place.replace('s3://', 's3a://')}/checkpoints"
    worker = Worker(spark, Settings.read(os.environ), shelf(spark, place), checkpoints)
    worker.start()
    try:
        if not ended.is_set():
            uvicorn.run(
                make_app(worker, f"{host}:{port}"),
                host=host,
                port=port,
                log_config=None,
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=30,
            )
    finally:
        worker.close()
        spark.stop()
