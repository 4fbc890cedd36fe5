"""Applications that do not end by themselves: the command does."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.dryrun import Planned, run, run_application
from headwater.errors import DryRunFailed

_BEGIN = """
import asyncio
import queue
import signal
import threading
import time

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()


def write():
    spark.range(1).writeTo("one").append()


"""
_ENDLESS = {
    "loop": "write()\nn = 0\nwhile True: n += 1",
    "swallowed": "while True:\n    try:\n        write(); time.sleep(1)\n    except: n = 1",
    "twice swallowed": "while True:\n    try:\n        try: write(); time.sleep(1)\n"
    "        except: time.sleep(0.001)\n    except: n = 1",
    "queue": "write()\nqueue.Queue().get()",
    "signal": "write()\nsignal.signal(signal.SIGTERM, lambda *_: None)\nsignal.pause()",
    "lock": "write()\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "jvm": "write()\nspark._jvm.java.lang.Thread.sleep(600_000)",
    "thread": "def beat():\n    while True: time.sleep(5)\n"
    "threading.Thread(target=beat).start()\nwrite()",
    "asyncio": "write()\nasyncio.run(asyncio.sleep(600))",
    "job": "write()\nspark.range(1).select(F.udf(lambda _: time.sleep(600))('id')).collect()",
}


def _is_wanted(planned: Planned) -> bool:
    return planned.target.strip("`") == "one"


@pytest.mark.parametrize("kind", _ENDLESS)
def test_an_application_that_goes_on_after_its_write_is_left(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(run, "_LONGEST", 1.0)
    app = tmp_path / "app.py"
    app.write_text(_BEGIN + _ENDLESS[kind])
    found = run_application(spark, app, wanted=_is_wanted)
    assert found
    assert "still running" in found[0].doubts[-1]
    assert spark.range(3).count() == 3


@pytest.mark.parametrize("kind", ["loop", "queue"])
def test_an_application_that_never_writes_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(run, "_LONGEST_BEFORE", 2.0)
    app = tmp_path / "app.py"
    app.write_text(_BEGIN + _ENDLESS[kind].replace("write()", ""))
    with pytest.raises(DryRunFailed, match="still running after 2 seconds, and had not written"):
        run_application(spark, app, wanted=_is_wanted)


def test_metrics_of_a_write_that_is_not_executed_are_not_waited_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    app = tmp_path / "app.py"
    app.write_text(
        f"{_BEGIN}seen = Observation('n')\n"
        "spark.range(3).observe(seen, F.count('*').alias('n')).write.format('noop').save()\n"
        "if seen.get['n']: write()"
    )
    with pytest.raises(DryRunFailed, match="metrics of an Observation"):
        run_application(spark, app, wanted=_is_wanted)


def test_threads_of_an_application_write_as_it_does_and_nothing_afterwards(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, go, place = tmp_path / "app.py", tmp_path / "go", tmp_path / "out"
    app.write_text(
        f"{_BEGIN}def late():\n    while not Path({str(go)!r}).exists(): time.sleep(0.01)\n"
        f"    spark.range(1).write.json({str(place)!r})\n"
        "from pathlib import Path\nthreading.Thread(target=write).start()\n"
        "threading.Thread(target=late, name='late').start()\n"
    )
    monkeypatch.setattr(run, "_LONGEST", 1.0)
    (found,) = run_application(spark, app, wanted=_is_wanted)
    (late,) = [one for one in threading.enumerate() if one.name == "late"]
    go.touch()
    late.join(60)
    assert not late.is_alive()
    assert not place.exists()
    assert "still running" in found.doubts[-1]


_COMMAND = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from headwater.dryrun import run, run_application

run._LONGEST = 0.5
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
found = run_application(spark, Path(sys.argv[1]), wanted=lambda _planned: True)
spark.stop()
print("answer", len(found))
"""


def test_the_process_ends_with_its_answer(tmp_path: Path) -> None:
    app, command = tmp_path / "app.py", tmp_path / "command.py"
    app.write_text(
        f"{_BEGIN}from concurrent.futures import ThreadPoolExecutor\n"
        "def beat():\n    while True: print('beat'); time.sleep(0.01)\n"
        "threading.Thread(target=beat).start()\nThreadPoolExecutor().submit(beat)\nwrite()"
    )
    command.write_text(_COMMAND)
    arguments = [sys.executable, str(command), str(app)]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "answer 1\n"), done.stderr
