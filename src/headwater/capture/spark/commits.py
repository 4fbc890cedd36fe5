"""What each micro-batch of a query read, tied to the Iceberg snapshot that it was committed as.

Spark's reports tell the offsets at no cost. Where there is none for a snapshot, because the driver
was killed before it could tell, the query's checkpoint knows them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.capture.progress import Commit, offsets_between, offsets_of, ran
from headwater.capture.spark.jvm import Java, call, option
from headwater.capture.spark.snapshots import Snapshot
from headwater.openlineage.times import parse_moment


class Commits:
    """The commits of one query."""

    def __init__(self, execution: Java) -> None:
        self._execution = execution
        self._waiting: dict[int, Snapshot] = {}  # for the report on their micro-batch
        self._application = call(execution, "sparkSession", "sparkContext", "applicationId")
        self._first: tuple[int, int] | None = None  # micro-batch of this execution, and its start

    def new(
        self,
        reports: Sequence[Mapping[str, Any]],
        snapshots: Sequence[Snapshot],
        *,
        is_last: bool = False,
    ) -> list[Commit]:
        """What was committed since the last call; a snapshot may wait for the next one."""
        self._waiting |= {snapshot.batch: snapshot for snapshot in snapshots}
        told = {int(report["batchId"]): report for report in reports if ran(report)}
        read = {batch: offsets_of(report) for batch, report in told.items()}
        if self._first is None and told:
            self._first = min(told), _milliseconds(told[min(told)])
        done = {batch for batch in self._waiting if is_last or batch <= max(read, default=-1)}
        return [self._commit(batch, read.get(batch)) for batch in sorted(done | read.keys())]

    def _commit(self, batch: int, offsets: dict[str, Any] | None) -> Commit:
        snapshot = self._waiting.pop(batch, None)
        found: Commit = {"batch": batch}
        if offsets := self._logged(batch) if offsets is None else offsets:
            found["offsets"] = offsets
        if snapshot is not None:
            found |= {"snapshot": snapshot.id, "sequence": snapshot.sequence}
            if snapshot.history:
                found["history"] = snapshot.history
            if snapshot.table:
                found["table"] = snapshot.table
        if self._is_earlier(batch, snapshot):
            found["recovered"] = True  # an earlier execution has made it, and may have told of it
        return found

    def _is_earlier(self, batch: int, snapshot: Snapshot | None) -> bool:
        """Whether an earlier execution made a commit.

        A micro-batch of which Spark does not know that it was committed is run again; the table
        knows it, and keeps the snapshot that it has.
        """
        if self._first is None or batch < self._first[0]:
            return True
        if snapshot is None:
            return False
        return snapshot.application != self._application or snapshot.made_at < self._first[1]

    def _logged(self, batch: int) -> dict[str, Any]:
        """By the checkpoint; nothing where it is gone, or was never of Kafka."""
        try:
            ends = self._positions(batch)
            starts = (
                self._positions(batch - 1) if batch else [*map(self._beginning, range(len(ends)))]
            )
        except (Py4JError, PySparkException):
            return {}
        return offsets_between(starts, ends)

    def _beginning(self, source: int) -> str:
        """Where a Kafka source began, which it notes on its own before the first micro-batch."""
        checkpoint = self._execution.offsetLog().metadataPath().getParent()
        path = checkpoint.suffix(f"/sources/{source}/0")
        conf = self._execution.sparkSession().sessionState().newHadoopConf()
        stream = path.getFileSystem(conf).open(path)
        try:
            noted = bytes(stream.readAllBytes()).decode(errors="replace")
        finally:
            stream.close()
        return noted[max(noted.find("{"), 0) :]

    def _positions(self, batch: int) -> list[Any]:
        """Where each source was at the end of a micro-batch, as far as the checkpoint goes back."""
        logged = option(self._execution.offsetLog().get(batch))
        if logged is None:
            return []
        sources = logged.offsets()
        found = (option(sources.apply(number)) for number in range(int(sources.size())))
        return [str(one.json()) if one is not None else None for one in found]


def _milliseconds(report: Mapping[str, Any]) -> int:
    """When a micro-batch was begun."""
    return parse_moment(str(report["timestamp"])) // 1000
