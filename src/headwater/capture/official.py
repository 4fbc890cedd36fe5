"""OpenLineage's own listener in place of capture: the configuration that puts it into Spark."""

from collections.abc import Mapping

LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
# Lists, so that what is there already stays.
_LISTS = ("spark.jars", "spark.extraListeners")


def with_listener(conf: Mapping[str, str], jar: str, environ: Mapping[str, str]) -> dict[str, str]:
    """A Spark configuration with the listener in it; where it sends to, the environment says."""
    added = {"spark.jars": jar, "spark.extraListeners": LISTENER} | _transport(environ)
    both = {**conf, **added}
    for key in _LISTS:
        listed = [*conf.get(key, "").split(","), added[key]]
        both[key] = ",".join(dict.fromkeys(filter(None, listed)))
    return both


def _transport(environ: Mapping[str, str]) -> dict[str, str]:
    prefix = "spark.openlineage"
    found = {}
    if environ.get("OPENLINEAGE_URL"):
        found[f"{prefix}.transport.type"] = "http"
        found[f"{prefix}.transport.url"] = environ["OPENLINEAGE_URL"]
        if environ.get("OPENLINEAGE_API_KEY"):
            found[f"{prefix}.transport.auth.type"] = "api_key"
            found[f"{prefix}.transport.auth.apiKey"] = environ["OPENLINEAGE_API_KEY"]
    if environ.get("OPENLINEAGE_NAMESPACE"):
        found[f"{prefix}.namespace"] = environ["OPENLINEAGE_NAMESPACE"]
    return found
