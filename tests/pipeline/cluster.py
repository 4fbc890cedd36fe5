"""A real Spark standalone cluster on this machine: a master and two workers."""

import subprocess
import time
from pathlib import Path

import psutil
import pyspark

import jvm
from ports import free_port
from stack.platform import Platform

_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """Starts and ends a cluster; `url` is what `--master` takes."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self._folder = folder
        self._environ = {
            **platform.environ,
            "JAVA_HOME": platform.variables()["JAVA_HOME"],
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": jvm.options(),
        }
        self._port = free_port()
        self.url = f"spark://127.0.0.1:{self._port}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        port, pages = str(self._port), str(free_port())
        self._run("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", pages)
        self._await("master.Master", "I have been elected leader")
        for number in range(2):
            place = str(self._folder / f"work-{number}")
            pages = str(free_port())
            options = ["--host", "127.0.0.1", "--cores", "2", "--memory", "1500m"]
            options += ["--webui-port", pages, "--work-dir", place, self.url]
            self._run("worker.Worker", *options)
        self._await("worker.Worker", "Successfully registered with master", 2)

    def kill_executor(self) -> None:
        """Kill one executor of the application that runs, as a lack of memory does."""
        self._executors()[0].kill()

    def kill_worker(self) -> None:
        """Kill a Spark worker with all its executors, as the loss of a machine does."""
        lost = self._processes.pop()
        processes = [psutil.Process(lost.pid), *_below(lost.pid)]
        for process in processes:
            process.kill()
        lost.wait(60)
        psutil.wait_procs(processes[1:], 60)

    def _executors(self) -> list[psutil.Process]:
        below = [one for process in self._processes for one in _below(process.pid)]
        return [one for one in below if _is_executor(one)]

    def stop(self) -> None:
        for process in self._processes:
            family = _below(process.pid)
            process.terminate()
            process.wait(120)
            for one in family:
                if one.is_running():
                    one.kill()

    def _run(self, what: str, *options: str) -> None:
        with self._log(what).open("ab") as log:
            command = [str(_CLASS), f"{_DEPLOY}.{what}", *options]
            started = subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)
        self._processes.append(started)

    def _await(self, what: str, line: str, times: int = 1) -> None:
        limit = time.monotonic() + 180
        while self._log(what).read_text(errors="replace").count(line) < times:
            assert time.monotonic() < limit, self._log(what).read_text(errors="replace")[-2000:]
            time.sleep(0.2)

    def _log(self, what: str) -> Path:
        return self._folder / f"{what}.log"


def _below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _is_executor(process: psutil.Process) -> bool:
    try:
        return any("ExecutorBackend" in word for word in process.cmdline())
    except psutil.Error:  # it has ended
        return False
