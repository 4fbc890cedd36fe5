"""Compiles the Java applications of tests with the compiler that Spark brings along."""

import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from capture.processes import APPS


def jar_of(spark: SparkSession, source: str, jar: Path) -> Path:
    """A jar with the classes of one of the applications."""
    jvm: Any = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((APPS / source).read_text())
    with zipfile.ZipFile(jar, "w") as archive:
        for name, code in compiler.getBytecodes().items():
            archive.writestr(f"{str(name).replace('.', '/')}.class", bytes(code))
    return jar
