"""The Spark History Server, out of pyspark's own jars, over the event logs of our jobs."""

from pathlib import Path

from headwater.stack.ivy import pyspark_jars
from headwater.stack.ports import HOST
from headwater.stack.service import SMALL_JVM, PlatformLayout, Service, Tool, get_json


def event_logs(home: Path) -> Path:
    """Where Spark jobs leave their event logs."""
    return home / "data" / "history" / "events"


def _prepare(layout: PlatformLayout, _run: Tool) -> None:
    event_logs(layout.home).mkdir(parents=True, exist_ok=True)


def _command(layout: PlatformLayout) -> list[str]:
    options = {
        "spark.history.fs.logDirectory": event_logs(layout.home).as_uri(),
        "spark.history.fs.update.interval": "5s",
        "spark.history.ui.port": str(layout.ports["history"]),
        "spark.ui.proxyBase": "",
    }
    flags = [f"-D{name}={value}" for name, value in options.items()]
    opens = ("java.lang", "java.nio", "java.util", "sun.nio.ch")
    flags += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in opens]
    classpath = f"{pyspark_jars()}/*"
    server = "org.apache.spark.deploy.history.HistoryServer"
    return [layout.java, "-Xms64m", "-Xmx512m", *SMALL_JVM, *flags, "-cp", classpath, server]


def _variables(_layout: PlatformLayout) -> dict[str, str]:
    return {"SPARK_LOCAL_IP": HOST, "SPARK_PUBLIC_DNS": HOST}


def _probe(layout: PlatformLayout) -> None:
    get_json(f"http://{layout.endpoint('history')}/api/v1/applications")


HISTORY = Service(
    name="history",
    title="Spark History Server",
    port=18080,
    scheme="http://",
    prepare=_prepare,
    command=_command,
    variables=_variables,
    probe=_probe,
)
