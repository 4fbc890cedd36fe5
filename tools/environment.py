"""Make a virtual environment with uv in it, on any Python that is new enough.

python3 tools/environment.py .venv

Needs nothing but the standard library. Debian and Ubuntu ship Python without `ensurepip`: where
it is missing, uv is taken from PATH or installed by the system's own pip.
"""

import importlib.util
import shutil
import subprocess
import sys
import venv
from pathlib import Path

OLDEST = (3, 11)
UV = "uv>=0.9"
QUIET = ("--quiet", "--disable-pip-version-check")


def main(folder):  # no annotations: an older Python must get as far as the message
    """Make the environment, unless it is there and its programs start."""
    if sys.version_info < OLDEST:
        return fail(
            f"Headwater needs Python 3.11 or newer; {sys.executable} is {version()}.",
            "Install one, or name it: make PYTHON=python3.12 …",
        )
    python = folder / "bin" / "python"
    if not (starts(python) and starts(folder / "bin" / "uv")):
        venv.create(folder, clear=not starts(python), symlinks=True)
        if not install_uv(python):
            return fail(
                f"{sys.executable} can make no virtual environment: it has neither ensurepip "
                "nor pip, and there is no uv on PATH.",
                "On Debian and Ubuntu: apt install python3-venv",
            )
    return 0


def starts(program):
    """Whether a program is there and starts."""
    return program.exists() and not subprocess.call(
        [str(program), "--version"], stdout=subprocess.DEVNULL
    )


def install_uv(python):
    """Install uv into an environment by the first way that there is."""
    if importlib.util.find_spec("ensurepip"):
        run(python, "-m", "ensurepip", stdout=subprocess.DEVNULL)
        run(python, "-m", "pip", "install", *QUIET, UV)
    elif shutil.which("uv"):
        run("uv", "pip", "install", "--quiet", "--python", python, UV)
    elif importlib.util.find_spec("pip"):
        run(sys.executable, "-m", "pip", "--python", python, "install", *QUIET, UV)
    else:
        return False
    return True


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def version():
    return ".".join(map(str, sys.version_info[:3]))


def fail(message, hint):
    print(message, hint, sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1])))
    except subprocess.CalledProcessError as error:
        sys.exit(fail(f"{' '.join(error.cmd[:4])} … failed.", "Its output above says why."))
