"""Functions that an application sends to executors are pickled as if capture were not there."""

import subprocess
import sys
from pathlib import Path

import pytest

from capture.processes import running
from capture.receiver import Receiver

_PICKLING = """
import pickle
import signal
import sys
import threading
from sys import excepthook as early_hook
from sys import exit as early
from pyspark import cloudpickle
from pyspark.sql import SparkSession
early_method = SparkSession.createDataFrame
from headwater.capture.endings import Endings
from headwater.capture.spark.python_api import PythonApi

class Told:
    def __init__(self):
        self.lock = threading.Lock()
    def interrupted(self, by):
        pass
    def failed(self, error):
        pass
    def over(self, *, in_handler=False):
        pass

endings, wrappers = Endings(Told()), PythonApi(Told())
from sys import excepthook as late_hook
from sys import exit as late
late_method = SparkSession.createDataFrame
handler = signal.getsignal(signal.SIGINT)
_exit, _quit, append = exit, quit, [1].append

{end}
pickled = {{}}
for name in {names}:
    exec(f"def function(): return {{name}}")
    pickled[name] = cloudpickle.dumps(function)
sys.stdout.buffer.write(pickle.dumps(pickled))
"""
_NAMES = (
    "early", "late", "early_hook", "late_hook", "_exit", "_quit", "handler", "append",
    "early_method", "late_method",
)  # fmt: skip
_UNPICKLING = """
import pickle, sys
found = {name: pickle.loads(one)() for name, one in pickle.load(sys.stdin.buffer).items()}
assert found["early"] is found["late"] is sys.exit
assert type(found["_exit"]).__name__ == type(found["_quit"]).__name__ == "Quitter"
assert not [name for name in sys.modules if name.startswith("headwater")]
print(*found)
"""


@pytest.mark.parametrize("end", ["", "endings.remove(); wrappers.remove()"], ids=["in", "after"])
def test_functions_are_pickled_as_without_capture(end: str) -> None:
    program = [sys.executable, "-c", _PICKLING.format(names=_NAMES, end=end)]
    pickled = subprocess.run(program, capture_output=True, check=False)
    assert pickled.returncode == 0, pickled.stderr
    program = [sys.executable, "-c", _UNPICKLING]
    done = subprocess.run(program, input=pickled.stdout, capture_output=True, check=False)
    assert done.stdout.decode().split() == [*_NAMES], done.stderr


_APPLICATION = """
from sys import exit as early
from capture.apps.session import HOME, session
spark = session()
from sys import exit as late
from pyspark.sql import functions as F

@F.udf("string")
def never(value):
    if value < 0:
        early(3)
        late(3)
        quit(3)
    return str(value)

spark.range(2).select(never("id").alias("text")).write.parquet(str(HOME / "out"))
"""


def test_a_python_function_that_may_exit_runs(tmp_path: Path, receiver: Receiver) -> None:
    (tmp_path / "app.py").write_text(_APPLICATION)
    command = (sys.executable, "-m", "headwater.cli.main", "run", "app.py")
    with running(tmp_path, receiver.url, *command) as app:
        assert app.exit_code() == 0, app.text()
    assert receiver.types("test_app") == ["START", "COMPLETE"]
