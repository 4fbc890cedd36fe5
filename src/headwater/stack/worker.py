"""The pipeline's worker: one Spark application beside the services that it reads and writes."""

import os
import sys

from headwater.stack.ports import HOST
from headwater.stack.service import PlatformLayout, Service, Tool, get_json

# A JVM that compiles quickly is ready sooner than one that compiles well.
_JVM = "-XX:TieredStopAtLevel=1 -Xshare:auto"


def _prepare(layout: PlatformLayout, _run: Tool) -> None:
    layout.data("worker").mkdir(parents=True, exist_ok=True)


def _command(layout: PlatformLayout) -> list[str]:
    address = ["--host", HOST, "--port", str(layout.ports["worker"])]
    state = ["--state", str(layout.data("worker"))]
    return [sys.executable, "-m", "headwater.cli.main", "worker", *address, *state]


def _variables(layout: PlatformLayout) -> dict[str, str]:
    return {
        "HEADWATER_HOME": str(layout.home),
        "OPENLINEAGE_URL": f"http://{layout.endpoint('server')}",
        # Someone watches: that a worker was killed should show within seconds.
        "HEADWATER_HEARTBEAT_SECONDS": os.environ.get("HEADWATER_HEARTBEAT_SECONDS", "3"),
        "HEADWATER_LEASE_SECONDS": os.environ.get("HEADWATER_LEASE_SECONDS", "15"),
        "PYSPARK_SUBMIT_ARGS": "pyspark-shell",
        "JDK_JAVA_OPTIONS": _JVM,
        "SPARK_LOCAL_IP": HOST,
    }


def _probe(layout: PlatformLayout) -> None:
    get_json(f"http://{layout.endpoint('worker')}/connectors")


WORKER = Service(
    name="worker",
    title="Pipeline worker",
    port=8083,
    scheme="http://",
    needs=("kafka", "registry", "s3", "metastore", "server"),
    prepare=_prepare,
    command=_command,
    variables=_variables,
    probe=_probe,
    start_limit_s=180.0,
)
