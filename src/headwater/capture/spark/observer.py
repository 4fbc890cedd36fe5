"""Takes in what an application does through PySpark, and never lets a fault of capture out."""

from collections.abc import Callable
from typing import Any

from headwater.capture.fault_barrier import FaultBarrier
from headwater.capture.spark.handovers import Handovers
from headwater.capture.spark.jvm import Java
from headwater.capture.spark.rdds import RddSaves
from headwater.capture.spark.sessions import SessionSettings
from headwater.capture.spark.streams import Streams


class GuardedObserver:
    """What the wrappers of PySpark's classes call."""

    def __init__(
        self,
        barrier: FaultBarrier,
        streams: Streams,
        handovers: Handovers,
        saves: RddSaves,
        settings: SessionSettings,
        *,
        on_cut: Callable[[], object],
        on_query_over: Callable[[str], object],
        on_session: Callable[[Java, Java], object],
    ) -> None:
        self._barrier, self._streams = barrier, streams
        self._handovers, self._saves, self._settings = handovers, saves, settings
        self._on_cut = on_cut
        self._on_query_over, self._on_session = on_query_over, on_session

    def query_started(self, query: Java) -> None:
        """A streaming query has started."""
        self._barrier.run("a query's start", lambda: self._streams.started(query))

    def query_stopping(self, run_id: str) -> None:
        """Someone stops a query."""
        self._streams.stopping(run_id)

    def query_over(self, run_id: str) -> None:
        """Someone has waited for a query that is over, or has stopped it."""
        self._barrier.run("a query's end", lambda: self._on_query_over(run_id))

    def session_made(self, session: Java, origin: Java) -> None:
        """A session was made from another one."""
        self._barrier.run("a new session", lambda: self._on_session(session, origin))

    def setting_changed(self, conf: Java, name: str) -> None:
        """A setting of a session was set or removed."""
        self._barrier.run("a setting", lambda: self._settings.set_by_python(conf, name))

    def frame_checkpointed(self, frame: Any, result: Any) -> None:
        """A frame was checkpointed."""
        self._cut("a checkpoint", lambda: self._handovers.checkpointed(frame, result))

    def checkpoint_seen(self, execution: Java, rdd_id: int) -> None:
        """A checkpoint of the JVM's own code was seen."""
        self._cut("a checkpoint", lambda: self._handovers.seen(execution, rdd_id))

    def frame_as_rdd(self, frame: Any, rdd: Any) -> None:
        """A frame's rows are used as an RDD."""
        self._cut("an RDD", lambda: self._handovers.as_rdd(frame, rdd))

    def frame_as_pandas(self, frame: Any, result: Any) -> None:
        """A frame's rows are used as a pandas frame."""
        self._cut("a pandas frame", lambda: self._handovers.as_pandas(frame, result))

    def frame_as_arrow(self, frame: Any) -> None:
        """A frame's rows are used as an Arrow table."""
        self._cut("an Arrow table", lambda: self._handovers.as_arrow(frame))

    def frame_made(self, data: Any, frame: Any) -> None:
        """A frame was made from data of the driver."""
        self._barrier.run("a frame", lambda: self._handovers.from_pandas(data, frame))

    def save_started(self, rdd: Any, method: str, place: str) -> str:
        """An RDD's records are about to be written."""
        run_ids: list[str] = []
        self._barrier.run(
            "an RDD's save",
            lambda: run_ids.append(self._saves.started(rdd._jrdd.rdd(), method, place)),
        )
        return run_ids[0] if run_ids else ""

    def save_ended(self, run_id: str, error: BaseException | None) -> None:
        """They are written, or could not be."""
        self._barrier.run("an RDD's end", lambda: self._saves.ended(run_id, error))

    def _cut(self, what: str, note: Callable[[], object]) -> None:
        if self._barrier.run(what, note):
            self._on_cut()
