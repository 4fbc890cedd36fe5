"""The schema registry: Apicurio, used through its Confluent API."""

from headwater.stack.ports import HOST
from headwater.stack.service import SMALL_JVM, Service, Site, Tool, get_json, request_json

_API = "/apis/ccompat/v7"


def registry_url(site: Site) -> str:
    """The address that Confluent's clients take."""
    return f"http://{site.endpoint('registry')}{_API}"


def _prepare(site: Site, _run: Tool) -> None:
    site.data("registry").mkdir(parents=True, exist_ok=True)


def _command(site: Site) -> list[str]:
    (runner,) = site.unpacked("registry").rglob("apicurio-registry-app-*-runner.jar")
    database = site.data("registry") / "registry"
    options = {
        "quarkus.http.host": HOST,
        "quarkus.http.port": str(site.ports["registry"]),
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        # By itself H2 keeps a commit in memory for half a second.
        "apicurio.datasource.url": f"jdbc:h2:file:{database};WRITE_DELAY=0",
    }
    flags = [f"-D{name}={value}" for name, value in options.items()]
    return [site.java, "-Xms32m", "-Xmx256m", *SMALL_JVM, *flags, "-jar", str(runner)]


def _probe(site: Site) -> None:
    if "compatibilityLevel" not in get_json(f"{registry_url(site)}/config"):
        raise ConnectionError("the registry does not report its compatibility level")


def _settle(site: Site) -> None:
    """Ask for Confluent's default once, and leave what people choose later."""
    done = site.data("registry") / ".settled"
    if not done.exists():
        request_json("PUT", f"{registry_url(site)}/config", {"compatibility": "BACKWARD"})
        done.touch()


REGISTRY = Service(
    name="registry",
    title="Schema registry",
    port=8081,
    scheme="http://",
    sets=("registry",),
    prepare=_prepare,
    command=_command,
    probe=_probe,
    settle=_settle,
)
