"""Lets wheels carry the page: builds it first, unless that was done or its source is not there."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the page before a wheel is made; an editable install leaves it to `make setup`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the page."""
        root = Path(self.root)
        if version == "editable" or not (root / "web").is_dir() or _is_built(root):
            return
        built = runpy.run_path(str(root / "tools" / "page.py"))["main"]("build")
        if built:
            self.app.display_warning("the wheel has no page: there is no Node to build it with")


def _is_built(root: Path) -> bool:
    page = root / "src" / "headwater" / "server" / "page" / "index.html"
    sources = [path for path in (root / "web").rglob("*") if "node_modules" not in path.parts]
    latest = max(path.stat().st_mtime for path in sources)
    return page.is_file() and page.stat().st_mtime >= latest
