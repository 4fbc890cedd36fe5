"""One platform for the whole session: starting it is the slow part."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.stack.settings import Settings
from stack.platform import Platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every service on free ports, on a machine without Java on its path."""
    platform = Platform(tmp_path_factory.mktemp("platform"), PATH="/nonexistent", JAVA_HOME="")
    platform.up("--with", "connect,history")
    try:
        yield platform
    finally:
        platform.run("down")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings as the environment has them, with folders of one's own."""
    environ = {**os.environ, "HEADWATER_HOME": str(tmp_path), "HEADWATER_CACHE": str(tmp_path)}
    return Settings.read(environ)
