"""A runner: one thread that keeps one service running."""

import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

from headwater.errors import HeadwaterError, ServiceFailed, ServiceUnprepared
from headwater.stack.cause import cause
from headwater.stack.files import disk_faults_are_told, disk_full
from headwater.stack.process import Pid, ProcessGroup, end, listens
from headwater.stack.service import PlatformLayout, Service, environment
from headwater.stack.state_writer import PlatformStateWriter

_POLL_S = 0.2
_GRACE_S = 15.0
_FIRST_TRIES = 3
_BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# A service that stayed up this long has earned quick restarts again.
_STEADY_S = 60.0
_PROBE_S = 5.0
_LOG_LIMIT = 20 * 2**20


class Runner(threading.Thread):
    """Prepares a service, starts it, waits until it is ready, and starts it again when it dies."""

    def __init__(
        self,
        service: Service,
        layout: PlatformLayout,
        group: ProcessGroup,
        writer: PlatformStateWriter,
        stop: threading.Event,
        users: Sequence["Runner"],
    ) -> None:
        super().__init__(name=f"runner-{service.name}", daemon=True)
        self._users = users
        self._service, self._layout = service, layout
        self._group, self._writer, self._stop_asked = group, writer, stop
        self._log = layout.log(service.name)
        self._log_start = 0
        self._began = 0.0
        self._ready_at: float | None = None
        self._came_up = False
        self._restarts = 0

    def run(self) -> None:
        """Keep the service up until asked to stop, or until it has never come up."""
        failures = 0
        while not self._stop_asked.is_set():
            reason = self._once()
            if self._stop_asked.is_set():
                break
            failures = 1 if self._was_steady() else failures + 1
            if not self._came_up and (
                failures >= _FIRST_TRIES or not isinstance(reason, ServiceFailed)
            ):
                self._writer.fail(self._service.name, reason)
                break
            self._restarts += 1
            self._tell(
                status="restarting", restarts=self._restarts, reason=reason.message, pid=None
            )
            self._stop_asked.wait(_BACKOFF_S[min(failures, len(_BACKOFF_S)) - 1])

    def _once(self) -> HeadwaterError:
        """Run the service from its start to its end; tell why it ended."""
        self._began, self._ready_at = time.monotonic(), None
        self._tell(status="starting", reason="")
        self._begin_log()
        # A thread that dies in silence would leave its service "starting" for ever.
        try:
            command, variables = self._prepared()
        except HeadwaterError as error:
            return error
        except Exception as error:
            return ServiceUnprepared(self._service.name, error)
        try:
            self._live(command, variables)
        except HeadwaterError as error:
            return error
        except Exception as error:
            return self._failure(f"{type(error).__name__}: {error}")
        return self._failure("it ended")

    def _prepared(self) -> tuple[list[str], Mapping[str, str]]:
        with disk_faults_are_told(self._layout.home):
            self._service.prepare(self._layout, self._run_tool)
            return self._service.command(self._layout), self._service.variables(self._layout)

    def _live(self, command: list[str], variables: Mapping[str, str]) -> None:
        child = self._spawn(command, variables)
        try:
            self._tell(pid=Pid.of(child.pid))
            self._await_ready(child)
            if not self._stop_asked.is_set():
                self._service.settle(self._layout)
                self._came_up, self._ready_at = True, time.monotonic()
                self._tell(status="healthy", ready_after_s=round(self._ready_at - self._began, 1))
            self._watch(child)
        finally:
            if self._stop_asked.is_set():
                self._tell(status="stopping")
                # Those that use this service end cleanly only while it is there.
                for user in self._users:
                    user.join(_GRACE_S)
            end(child, _GRACE_S)

    def _watch(self, child: subprocess.Popen[bytes]) -> None:
        """Probe the service for as long as it runs, and end it when it has stopped answering."""
        silent_since: float | None = None
        due = time.monotonic() + _PROBE_S
        while child.poll() is None and not self._stop_asked.wait(_POLL_S):
            if time.monotonic() < due:
                continue
            asked = time.monotonic()
            reason = self._probe_error()
            due = time.monotonic() + _PROBE_S
            if reason is None:
                if silent_since is not None:
                    silent_since = None
                    self._tell(status="healthy", reason="")
                continue
            silent_since = asked if silent_since is None else silent_since
            silent_s = time.monotonic() - silent_since
            self._tell(status="unresponsive", reason=reason)
            if silent_s > self._layout.unresponsive_s:
                child.kill()
                raise self._failure(f"it did not answer for {silent_s:.0f} s ({reason})")

    def _probe_error(self) -> str | None:
        try:
            self._service.probe(self._layout)
        except Exception as error:  # whatever it says, it does not answer as it should
            return str(error) or type(error).__name__
        return None

    def _await_ready(self, child: subprocess.Popen[bytes]) -> None:
        """Wait until the service answers and the listener is our own process."""
        limit = time.monotonic() + self._service.start_limit_s
        port = self._layout.ports[self._service.name]
        why = f"it does not listen at port {port}"
        while not self._stop_asked.wait(_POLL_S):
            if child.poll() is not None:
                raise self._failure(f"it ended with status {child.returncode}")
            diagnosis = self._service.diagnose(self._layout, self._new_log())
            if diagnosis is not None:
                raise diagnosis
            if time.monotonic() > limit:
                seconds = round(self._service.start_limit_s)
                raise self._failure(f"not ready after {seconds} s, {why}")
            if listens(child.pid, port):
                try:
                    self._service.probe(self._layout)
                except Exception as error:
                    # Whatever it says, it is not ready.
                    why = str(error) or type(error).__name__
                else:
                    break

    def _run_tool(self, command: list[str], variables: Mapping[str, str]) -> None:
        child = self._spawn(command, variables)
        while child.poll() is None:
            if self._stop_asked.wait(_POLL_S):
                end(child, 1.0)
                raise self._failure("it was stopped")
        if child.returncode:
            raise self._failure(f"its preparation ended with status {child.returncode}")

    def _spawn(self, command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        cwd = self._layout.data(self._service.name)
        cwd.mkdir(parents=True, exist_ok=True)
        return self._group.spawn(command, log=self._log, cwd=cwd, env=environment(variables))

    def _was_steady(self) -> bool:
        return self._ready_at is not None and time.monotonic() - self._ready_at > _STEADY_S

    def _begin_log(self) -> None:
        if self._log.exists() and self._log.stat().st_size > _LOG_LIMIT:
            self._log.replace(self._log.with_suffix(".old.log"))
        self._log_start = self._log.stat().st_size if self._log.exists() else 0

    def _failure(self, what: str) -> HeadwaterError:
        """The error for a service that ended, with what its log says since its last start."""
        text = self._new_log()
        diagnosis = self._service.diagnose(self._layout, text)
        if diagnosis is not None:
            return diagnosis
        if "No space left on device" in text:
            return disk_full(self._layout.home)
        line = cause(text)
        return ServiceFailed(
            self._service.name, f"{line} ({what})" if line else what, str(self._log)
        )

    def _new_log(self) -> str:
        if not self._log.exists():
            return ""
        with self._log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def _tell(self, **changes: object) -> None:
        self._writer.update(self._service.name, **changes)
