"""What a driver has caught, and gone on after, is not how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from capture.processes import running
from capture.receiver import Receiver

_DRIVER = """
import os, signal, sys
from headwater.capture.driver import Driver
from headwater.capture.endings import Endings
from headwater.capture.settings import read_settings

def finish(event_type, reason, *, settle=True):
    print(event_type.value, flush=True)
    exec("0")  # as modules do that threads import meanwhile; Python forgets an interrupt at it

settings = read_settings({{"url": "file:///dev/null", "spool_dir": {spool!r}}}, {{}}, {{}})
Endings(Driver(settings, "app", "4.1", finish))
{statements}
"""
_INTERRUPT = """
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    {}
"""
_EXIT = """
try:
    sys.exit(3)
except SystemExit:
    pass
"""
_FINALLY = """
try:
    sys.exit(3)
finally:
    print(end="")
"""


@pytest.mark.parametrize(
    ("statements", "state", "code"),
    [
        (_INTERRUPT.format("pass"), "COMPLETE", 0),
        (_INTERRUPT.format("sys.exit(0)"), "COMPLETE", 0),
        (_INTERRUPT.format("sys.exit(1)"), "ABORT", 1),
        (_INTERRUPT.format("raise"), "ABORT", -2),
        (_INTERRUPT.format("pass") + "sys.exit(130)", "ABORT", 130),
        (_INTERRUPT.format("pass") + "sys.exit(3)", "FAIL", 3),
        (_INTERRUPT.format("pass") + "raise ValueError('no')", "FAIL", 1),
        (_INTERRUPT.format("pass") + "raise ValueError('Job 3 cancelled')", "ABORT", 1),
        (_EXIT, "COMPLETE", 0),
        (_EXIT + "raise ValueError('no')", "FAIL", 1),
        (_EXIT + "sys.exit(4)", "FAIL", 4),
        (_FINALLY, "FAIL", 3),
        ("def main():\n    sys.exit(3)\nmain()", "FAIL", 3),
        ("os.kill(os.getpid(), signal.SIGTERM)", "ABORT", -15),
    ],
)
def test_end_of_the_driver(tmp_path: Path, statements: str, state: str, code: int) -> None:
    program = _DRIVER.format(spool=str(tmp_path / "spool"), statements=statements)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.split()[:1], done.returncode) == ([state], code), done.stderr


_APPLICATIONS = """
import signal
import sys
import headwater
from capture.apps.session import HOME, builder

def application(name):
    spark = builder().appName(name).getOrCreate()
    headwater.attach(spark)
    spark.range(2).write.parquet(str(HOME / name))
    return spark

first = application("first")
first.stop()
try:
    sys.exit(3)
except SystemExit:
    pass
second = application("second")
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
try:
    second.sql("select raise_error('no more')").write.parquet(str(HOME / "refused"))
except Exception:
    pass
second.stop()
third = application("third")
try:
    raise ValueError("of the third")
except ValueError:
    third.stop()
fourth = application("fourth")
fourth.stop()
raise ValueError("of the process")
"""


def test_an_application_does_not_end_by_what_comes_after_it(
    tmp_path: Path, receiver: Receiver
) -> None:
    (tmp_path / "app.py").write_text(_APPLICATIONS)
    with running(tmp_path, receiver.url, sys.executable, "app.py") as app:
        assert app.exit_code() == 1, app.text()
    states = {name: receiver.types(name) for name in ("first", "second", "third", "fourth")}
    assert states == {
        "first": ["START", "COMPLETE"],
        "second": ["START", "COMPLETE"],
        "third": ["START", "FAIL"],
        "fourth": ["START", "FAIL"],
    }
    assert "capture failed" not in app.text()
    (refused,) = [
        e for e in receiver.events
        if e["job"]["name"].endswith("refused") and e["eventType"] in ("FAIL", "ABORT")
    ]  # fmt: skip
    assert refused["eventType"] == "FAIL"
