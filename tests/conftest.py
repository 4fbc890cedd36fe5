"""What a run of the tests says at its end."""

from _pytest.terminal import TerminalReporter


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print how many commands of the documentation were run."""
    reports = terminalreporter.getreports("passed")
    counts = [value for report in reports for name, value in report.user_properties
              if name == "commands of the docs"]  # fmt: skip
    if counts:
        terminalreporter.write_line(f"{sum(counts)} commands of README and docs were run")
