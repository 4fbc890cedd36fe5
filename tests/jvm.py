"""How the JVMs of Spark are started in the tests."""

import sys
from pathlib import Path

# Made by spark_archive.py, for the jars of this environment.
ARCHIVE = Path(sys.prefix, "spark.jsa")
# Every Spark of the tests lives for seconds: its JVM compiles quickly instead of well. Many tests
# in one JVM need room for compiled code.
QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
# No warnings about an archive that does not fit: another Java or Spark starts as without it.
SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


def options() -> str:
    """The options of every JVM of Spark: quick to compile, with its classes from the archive."""
    shared = f"{SILENT} -XX:SharedArchiveFile={ARCHIVE}"
    return f"{QUICK} {shared}" if ARCHIVE.exists() else QUICK
