"""Runs the main method of a Java or Scala class, and attaches capture to the sessions it makes.

The driver is the JVM. This process starts it with a py4j gateway and stands for it: it passes
signals on, and ends with its exit code.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession

from headwater.capture.attach import attach_to
from headwater.capture.classic import Capture
from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.jvm.listeners import install
from headwater.capture.settings import read_settings
from headwater.capture.spark.jvm import Java, option, stack_trace
from headwater.errors import ApplicationFailed

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SOON, _LATER = 0.02, 0.2  # seconds between two looks for a session: until there is one, and after
_SHUTDOWN_PRIORITY = 100  # before Spark's own hooks, which stop the context
_EXIT_SECONDS = 60.0  # for the JVM's own shutdown, once everything is over
_GONE = (Py4JError, PySparkException, OSError)


class Application:
    """One application: its JVM, its main method, and the captures of its Spark contexts."""

    def __init__(self, main_class: str, arguments: list[str]) -> None:
        self._class, self._arguments = main_class, arguments
        self._barrier = FaultBarrier()
        self._signal: signal.Signals | None = None
        self._error: ApplicationFailed | None = None
        self._is_cut_off = False
        self._contexts: dict[str, SparkSession] = {}
        self._captures: list[Capture] = []
        self._gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        self._jvm: Java = self._gateway.jvm
        self._process: subprocess.Popen[bytes] = self._gateway.proc

    def run(self) -> NoReturn:
        """Run the application to its end, and end as it did."""
        self._barrier.run("preparing the JVM", self._prepare)
        self._handle_signals()
        main = threading.Thread(target=self._call_main, name="main-of-jvm", daemon=True)
        main.start()
        while not self._is_over(main):
            self._barrier.run("looking for sessions", self._look)
            main.join(_LATER if self._captures or not main.is_alive() else _SOON)
        self._barrier.run("looking for sessions", self._look)
        code = self._exit_code()
        for capture in self._captures:
            if self._error is not None:
                capture.fail(self._error)
            capture.end()
        self._end_jvm()
        if self._signal is not None:
            signal.signal(self._signal, signal.SIG_DFL)
            os.kill(os.getpid(), self._signal)
        sys.exit(code)

    def _prepare(self) -> None:
        spool = Path(read_settings({}, {}, os.environ).spool_dir)
        install(self._jvm, spool.with_name("classes"))
        ensure_callback_server_started(self._gateway)  # type: ignore[no-untyped-call]
        hooks = self._jvm.org.apache.hadoop.util.ShutdownHookManager.get()
        # The manager keeps hooks by their hash, which a task has, and an object of Python has not.
        task = self._jvm.java.util.concurrent.FutureTask(_ShutdownHook(self), None)
        hooks.addShutdownHook(task, _SHUTDOWN_PRIORITY)

    def _handle_signals(self) -> None:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._signalled)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        """Pass a signal on: the application's own shutdown hooks run before anything ends."""
        self._signal = signal.Signals(number)
        if self._process.poll() is None:
            self._process.terminate()  # the gateway's JVM ignores SIGINT

    def _call_main(self) -> None:
        try:
            loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
            kind = self._jvm.java.lang.Class.forName(self._class, True, loader)
            arguments = self._gateway.new_array(self._jvm.java.lang.String, len(self._arguments))
            for number, argument in enumerate(self._arguments):
                arguments[number] = argument
            application = self._jvm.org.apache.spark.deploy.JavaMainApplication(kind)
            application.start(arguments, self._jvm.org.apache.spark.SparkConf())
        except Py4JJavaError as error:
            self._error = _failure(error.java_exception)
        except _GONE:
            self._is_cut_off = True  # the JVM is about to end: its exit code tells how

    def _is_over(self, main: threading.Thread) -> bool:
        if self._process.poll() is not None:
            return True
        if main.is_alive() or self._is_cut_off:
            return False
        return not self._goes_on()

    def _goes_on(self) -> bool:
        """Whether threads of the application go on after its main method; a fault says no."""
        found: list[bool] = []
        self._barrier.run("the JVM's threads", lambda: found.append(_has_user_threads(self._jvm)))
        return any(found)

    def _look(self) -> None:
        """Attach to a new context, and see whether the application has stopped one."""
        try:
            session = option(self._jvm.SparkSession.getDefaultSession())
        except _GONE:
            return
        for known in [*self._contexts.values()]:
            self._notice_stop(known)
        if session is None or session.sparkContext().isStopped():
            return
        key = str(session.sparkContext().applicationId())
        if key not in self._contexts:
            self._contexts[key] = spark = self._wrapped(session)
            self._handle_signals()  # PySpark's own handler of SIGINT would end this process
            capture = attach_to(spark, {}, main_class=self._class)
            if isinstance(capture, Capture):
                self._captures.append(capture)

    def _notice_stop(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        if context._jsc is not None and context._jsc.sc().isStopped():
            context.stop()

    def _wrapped(self, session: Java) -> SparkSession:
        """A session of the JVM as one of PySpark."""
        java_context = self._jvm.JavaSparkContext(session.sparkContext())
        conf = SparkConf(_jconf=java_context.getConf())
        context = SparkContext(gateway=self._gateway, jsc=java_context, conf=conf)
        return SparkSession(context, session)

    def _exit_code(self) -> int:
        code = self._process.poll()
        if code is not None:
            return code if code >= 0 else 128 - code
        if self._error is not None:
            sys.stderr.write(f'Exception in thread "main" {self._error.trace}\n')
            return 1
        return 0

    def _end_jvm(self) -> None:
        """End the JVM as it would have ended by itself: with its shutdown hooks."""
        self._captures.clear()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def settle(self) -> None:
        """Report what has happened so far, while there is a JVM to ask."""
        for capture in [*self._captures]:
            self._barrier.run("a last report", capture.settle)


class _ShutdownHook:
    """Called by a JVM that is about to end; it waits for the answer."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def run(self) -> None:
        self._application.settle()

    class Java:
        implements = ("java.lang.Runnable",)


def _failure(error: Java) -> ApplicationFailed:
    """The exception of a main method, without the reflection around it."""
    while error.getClass().getName() == "java.lang.reflect.InvocationTargetException":
        error = error.getCause()
    return ApplicationFailed(str(error.toString()), _trace(error))


def _trace(error: Java) -> str:
    parts = [stack_trace(error)]
    cause = error.getCause()
    while cause is not None and len(parts) < 5:
        parts.append(f"Caused by: {stack_trace(cause)}")
        cause = cause.getCause()
    return "\n".join(parts)


def _has_user_threads(jvm: Java) -> bool:
    """Whether there are threads that keep a JVM alive, other than those of its gateway."""
    for thread in jvm.java.lang.Thread.getAllStackTraces().keySet():
        if thread.isDaemon() or not thread.isAlive() or thread.getName() in _OWN_THREADS:
            continue
        frames = thread.getStackTrace()
        names = {str(frames[n].getClassName()).partition(".")[0] for n in range(len(frames))}
        if "py4j" not in names:
            return True
    return False


_OWN_THREADS = frozenset({"main", "DestroyJavaVM"})
