"""Finds the local platform that is up, for commands that were given no address."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import NotUp

if TYPE_CHECKING:
    from headwater.stack.state import State


def platform_address(service: str) -> str:
    """The address of a service of the platform in HEADWATER_HOME; empty when it is not up."""
    state = _running()
    found = state.services.get(service) if state else None
    return found.address if found else ""


def platform_store() -> str:
    """The store of the platform's lineage server; empty when the platform is not up."""
    state = _running()
    if state is None or "server" not in state.services:
        return ""
    from headwater.stack.lineage import store_url

    return store_url(Path(state.home))


def _running() -> "State | None":
    try:
        from headwater.stack.settings import Settings
        from headwater.stack.state import running
    except ModuleNotFoundError:  # installed without the `stack` extra
        return None
    try:
        return running(Settings.read(os.environ).home)
    except NotUp:
        return None
