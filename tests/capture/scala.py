"""Compiles the Scala applications of tests with the compiler that PySpark brings along."""

import os
import subprocess
from pathlib import Path

import pyspark

import jvm
from capture.processes import APPS

JARS = Path(pyspark.__file__).parent / "jars"


def jar_of_scala(source: str, jar: Path) -> Path:
    """A jar with the classes of one of the applications."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java")
    path = os.pathsep.join(map(str, sorted(JARS.glob("scala-*.jar"))))
    compiler = (
        str(java),
        *jvm.QUICK.split(),
        "-Xmx500m",
        "-Xss4m",
        "-cp",
        path,
        "scala.tools.nsc.Main",
        "-nowarn",
    )
    spark = os.pathsep.join(map(str, sorted(JARS.glob("*.jar"))))
    subprocess.run([*compiler, "-cp", spark, "-d", str(jar), str(APPS / source)], check=True)
    return jar
