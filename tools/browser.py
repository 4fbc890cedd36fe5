"""Fetch a headless Chromium for the page's tests, from npm, where the system has no browser.

tools/browser.py     prints the path of a program that starts it

The package carries the browser for Linux on x86-64, the libraries and the fonts that a slim image
lacks. It is fetched once for each user, and its digest is checked.
"""

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import page
from headwater.stack.archive import unpack
from headwater.stack.files import locked
from headwater.stack.settings import Settings

PACKAGE = "@sparticuz/chromium"
VERSION = "153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="

DECOMPRESS = """
const { createReadStream, createWriteStream } = require("node:fs");
const { createBrotliDecompress } = require("node:zlib");
const { pipeline } = require("node:stream/promises");
const [from, to] = process.argv.slice(1);
pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));
"""

FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{folder}/fonts</dir>
  <cachedir>{folder}/fonts-cache</cachedir>
</fontconfig>
"""

START = """\
#!/bin/sh
export LD_LIBRARY_PATH='{folder}/lib'"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
export FONTCONFIG_FILE='{folder}/fonts.conf'
exec '{folder}/chromium' "$@"
"""


class Unavailable(Exception):
    """The package cannot be had, or not for this machine."""


def main() -> int:
    """Print the path of the program, or on stderr why there is none."""
    try:
        print(ready(Settings.read(os.environ).cache / "browser"))
    except (Unavailable, OSError, subprocess.CalledProcessError) as error:
        print(f"{PACKAGE} {VERSION} cannot be used: {error}", file=sys.stderr)
        return 1
    return 0


def ready(cache: Path) -> Path:
    """The program that starts the browser, fetched unless it is there."""
    folder = cache / f"chromium-{VERSION}"
    start = folder / "start"
    with locked(cache / "fetch.lock"):
        if not start.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            with TemporaryDirectory(dir=cache) as work:
                unpack_package(fetch(Path(work)), Path(work), folder)
            (folder / "fonts.conf").write_text(FONTS.format(folder=folder))
            # Written last: a folder without it is begun anew.
            start.write_text(START.format(folder=folder))
            start.chmod(0o755)
    return start


def fetch(work: Path) -> Path:
    """The package as npm serves it, with the digest that is named here."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise Unavailable(f"it has no browser for {sys.platform} on {platform.machine()}")
    npm = page.find_npm()
    if npm is None:
        raise Unavailable("there is no Node to fetch it with")
    print(f"fetching {PACKAGE} {VERSION}, 67 MB", file=sys.stderr)
    subprocess.run(
        [*npm, "pack", f"{PACKAGE}@{VERSION}", "--loglevel=error", f"--pack-destination={work}"],
        stdout=subprocess.DEVNULL,
        check=True,
        cwd=work,
    )
    (package,) = work.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    if digest != SHA512:
        raise Unavailable(f"it has the sha512 {digest}, and not {SHA512}")
    return package


def unpack_package(package: Path, work: Path, folder: Path) -> None:
    """Unpack the browser, its libraries and its fonts into a folder."""
    unpack(package, work)
    for compressed in (work / "package" / "bin").glob("*.br"):
        content = work / compressed.stem
        node = shutil.which("node") or "node"
        subprocess.run([node, "-e", DECOMPRESS, compressed, content], check=True)
        if tarfile.is_tarfile(content):
            unpack(content, folder)
        else:
            shutil.move(content, folder / content.name)
            (folder / content.name).chmod(0o755)


if __name__ == "__main__":
    sys.exit(main())
