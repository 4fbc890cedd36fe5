"""The connectors' jars for Spark, fetched once per user by the Ivy inside pyspark."""

import subprocess
from pathlib import Path

import pyspark

JARS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.3"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.spark", "spark-avro_2.13", "4.1.1"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0"),
)
_HOME = Path.home() / ".cache" / "headwater" / "test-jars"
_SETTINGS = """<ivysettings>
<settings defaultResolver="central"/>
<caches defaultCacheDir="{home}/ivy"/>
<resolvers>
<ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false"/>
</resolvers>
</ivysettings>"""
_MODULE = """<ivy-module version="2.0">
<info organisation="headwater" module="test-jars"/>
<configurations><conf name="default"/></configurations>
<dependencies>{dependencies}</dependencies>
</ivy-module>"""
_DEPENDENCY = (
    '<dependency org="{0}" name="{1}" rev="{2}" transitive="false" conf="default->default"/>'
)


def spark_jars() -> str:
    """A value for `spark.jars`, after fetching what is not there yet."""
    paths = [_HOME / f"{name}-{version}.jar" for _, name, version in JARS]
    if not all(path.exists() for path in paths):
        _fetch()
    return ",".join(map(str, paths))


def _fetch() -> None:
    _HOME.mkdir(parents=True, exist_ok=True)
    settings, module = _HOME / "settings.xml", _HOME / "ivy.xml"
    settings.write_text(_SETTINGS.format(home=_HOME))
    dependencies = "".join(_DEPENDENCY.format(*jar) for jar in JARS)
    module.write_text(_MODULE.format(dependencies=dependencies))
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    pattern = f"{_HOME}/[artifact]-[revision].[ext]"
    options = ["-settings", str(settings), "-ivy", str(module), "-retrieve", pattern]
    subprocess.run(
        ["java", "-cp", str(ivy), "org.apache.ivy.Main", *options], check=True, capture_output=True
    )
