"""OpenLineage's own listener in place of capture: how it gets into Spark."""

import pytest

from headwater.capture.official import LISTENER, with_listener
from headwater.cli.capture import with_official


def test_listener_comes_beside_what_is_configured() -> None:
    conf = with_listener(
        {"spark.jars": "a.jar", "spark.extraListeners": "mine"},
        "listener.jar",
        {"OPENLINEAGE_URL": "http://x", "OPENLINEAGE_API_KEY": "key"},
    )
    assert conf["spark.jars"] == "a.jar,listener.jar"
    assert conf["spark.extraListeners"] == f"mine,{LISTENER}"
    assert conf["spark.openlineage.transport.auth.apiKey"] == "key"
    assert "spark.openlineage.namespace" not in conf


@pytest.mark.parametrize(
    "given", [["--jars", "a.jar"], ["--jars=a.jar"], ["--conf", "spark.jars=a.jar"]]
)
def test_jars_of_spark_submit_stay(given: list[str]) -> None:
    options = with_official(["--master", "local[1]", "--verbose", *given], "listener.jar", {})
    assert options[:3] == ["--master", "local[1]", "--verbose"]
    assert "spark.jars=a.jar,listener.jar" in options
