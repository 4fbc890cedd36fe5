"""The labs that tests of the commands ask."""

from collections.abc import Iterator

import pytest

from cli.lab import Lab, loop, pipeline, running_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        lab.tell(*pipeline(), *loop())
        yield lab


@pytest.fixture(scope="session")
def spare_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab for tests that tell something themselves."""
    with running_lab(tmp_path_factory.mktemp("spare")) as lab:
        yield lab
