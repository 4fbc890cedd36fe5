"""What holds for every run of the tests: their order, their Spark, and what they say at the end."""

import os

import pytest
from _pytest.terminal import TerminalReporter

import jvm

# Every Spark that a test starts reads this, before options of its own.
os.environ["SPARK_SUBMIT_OPTS"] = jvm.options()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reversed", action="store_true", help="run the last test first")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Reverse the order, in which every test must pass too."""
    if config.getoption("--reversed"):
        items.reverse()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print how many commands of the documentation were run."""
    reports = terminalreporter.getreports("passed")
    counts = [value for report in reports for name, value in report.user_properties
              if name == "commands of the docs"]  # fmt: skip
    if counts:
        terminalreporter.write_line(f"{sum(counts)} commands of README and docs were run")
