"""What long measurements share: a Spark session, results kept piece by piece, parts of reports."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from capture.jars import prepare_spark


def local_session(name: str, conf: Mapping[str, str], *, cores: int = 2) -> SparkSession:
    """A session on this machine with the jars of the platform."""
    shared = {
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.jars": prepare_spark(),
    }
    builder = SparkSession.Builder().master(f"local[{cores}]").appName(name)
    for key, value in {**shared, **conf}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Pieces:
    """Results of a measurement that is made in pieces, each kept when it is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(exist_ok=True)

    def forget(self) -> None:
        """Begin anew."""
        self._path.unlink(missing_ok=True)

    def add(self, *rows: dict[str, Any]) -> None:
        """Keep results."""
        with self._path.open("a") as results:
            results.writelines(json.dumps(row) + "\n" for row in rows)

    def all(self) -> list[dict[str, Any]]:
        """What is kept."""
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text().splitlines()]


def piece_options(about: str | None) -> argparse.ArgumentParser:
    """The options of a measurement in pieces."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--anew", action="store_true", help="forget earlier results")
    parser.add_argument("--report", action="store_true", help="write the report")
    return parser


def numbers(text: str) -> range:
    """The numbers of `first-last`, or of a single one."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1) if text else range(0)


def put_between(report: Path, mark: str, lines: list[str]) -> None:
    """Put lines into a report in place of what stands between two marks."""
    before, _, rest = report.read_text().partition(mark)
    text = "\n".join([mark, *lines, mark])
    report.write_text(before + text + rest.partition(mark)[2])
