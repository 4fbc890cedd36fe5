"""One platform for the whole session: starting it is the slow part."""

from collections.abc import Iterator

import pytest

from stack.platform import Platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Kafka, registry, object store, metastore, Connect and history, on free ports."""
    platform = Platform(tmp_path_factory.mktemp("platform"))
    platform.up("--only", "kafka,registry,s3,metastore", "--with", "connect,history")
    try:
        yield platform
    finally:
        platform.run("down")
