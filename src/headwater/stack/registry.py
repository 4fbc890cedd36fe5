"""The schema registry: Apicurio, used through its Confluent API."""

from headwater.stack.ports import HOST
from headwater.stack.service import SMALL_JVM, PlatformLayout, Service, Tool, get_json, request_json

_API = "/apis/ccompat/v7"


def registry_url(layout: PlatformLayout) -> str:
    """The address that Confluent's clients take."""
    return f"http://{layout.endpoint('registry')}{_API}"


def _prepare(layout: PlatformLayout, _run: Tool) -> None:
    layout.data("registry").mkdir(parents=True, exist_ok=True)


def _command(layout: PlatformLayout) -> list[str]:
    (runner,) = layout.unpacked("registry").rglob("apicurio-registry-app-*-runner.jar")
    database = layout.data("registry") / "registry"
    options = {
        "quarkus.http.host": HOST,
        "quarkus.http.port": str(layout.ports["registry"]),
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        # By itself H2 keeps a commit in memory for half a second.
        "apicurio.datasource.url": f"jdbc:h2:file:{database};WRITE_DELAY=0",
    }
    flags = [f"-D{name}={value}" for name, value in options.items()]
    return [layout.java, "-Xms32m", "-Xmx256m", *SMALL_JVM, *flags, "-jar", str(runner)]


def _probe(layout: PlatformLayout) -> None:
    if "compatibilityLevel" not in get_json(f"{registry_url(layout)}/config"):
        raise ConnectionError("the registry does not report its compatibility level")


def _settle(layout: PlatformLayout) -> None:
    """Ask for Confluent's default once, and leave what people choose later."""
    done = layout.data("registry") / ".settled"
    if not done.exists():
        request_json("PUT", f"{registry_url(layout)}/config", {"compatibility": "BACKWARD"})
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
