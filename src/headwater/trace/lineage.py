"""What tracing asks of a lineage server."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from headwater.errors import RequestRefused, ServerUnreachable
from headwater.openlineage.failures import failure_reason
from headwater.openlineage.names import DatasetName
from headwater.trace.shapes import Formula

_NOT_FOUND = 404
_NAMESAKES = (
    "jobs named {} of several namespaces ({}) write the table: which plan is whose is not known"
)
_RUNS = 20  # of a job, the latest, that are looked at


class Server(Protocol):
    """Something that answers questions of the API."""

    def ask(self, path: str, **params: Any) -> dict[str, Any]:
        """An answer.

        Raises: ServerUnreachable, RequestRefused.
        """

    def ask_list(self, path: str, **params: Any) -> list[Any]:
        """An answer that is a list.

        Raises: ServerUnreachable, RequestRefused.
        """


class Writer(NamedTuple):
    """A job that writes a table, with the state of its latest run."""

    namespace: str
    name: str
    state: str
    application: str  # whose plans write for it: a streaming query has one of its own


class FailedRun(NamedTuple):
    """A run that failed: its error in one line, and everything that it says."""

    job: str
    id: str
    error: str
    text: str


class Lineage:
    """Answers that are asked for once; what cannot be had is noted, not raised."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.notes: dict[str, None] = {}
        self.is_up = True
        self._writes: dict[tuple[str, str, str | None], list[dict[str, Any]]] = {}
        self._writers: dict[str, list[Writer]] = {}

    def writes(
        self, table: DatasetName, snapshot: str, watermark: str | None = None
    ) -> list[dict[str, Any]]:
        """The runs behind a snapshot, the one that made it first; none if nobody reported it.

        With a watermark, what keeps state is followed no further back than that allows.
        """
        key = (str(table), snapshot, watermark)
        if key not in self._writes:
            bound = {"watermark": watermark} if watermark else {}
            told = self._ask("why", f"snapshot {snapshot} of {table.name}",
                             nodeId=str(table), snapshot=snapshot, **bound)  # fmt: skip
            writes = told["writes"] if told else []
            # A key with namespaces may not see the run that made the snapshot.
            is_whole = bool(writes) and writes[0]["output"].get("snapshot") == snapshot
            self._writes[key] = writes if is_whole else []
        return self._writes[key]

    def formulas(self, table: DatasetName, columns: list[str]) -> list[Formula]:
        """How each column of a table is computed, as far as the server knows."""
        told = self._ask("column-lineage", f"the columns of {table.name}",
                         nodeId=str(table), depth=1, detail="true")  # fmt: skip
        found: dict[str, Formula] = {}
        for node in (told or {}).get("graph", ()):
            data = node.get("data") or {}
            if (data.get("namespace"), data.get("dataset")) == (table.namespace, table.name):
                found[data["field"]] = _formula(data)
        return [found[name] for name in columns if name in found]

    def reached(self, topic: DatasetName, partition: int, offset: int) -> list[dict[str, Any]]:
        """The jobs that a record reached, those that read it first; none if nobody told."""
        told = self._ask("reached", f"partition {partition} of the topic {topic.name}",
                         nodeId=str(topic), partition=partition, firstOffset=offset,
                         lastOffset=offset)  # fmt: skip
        return told["jobs"] if told else []

    def writers(self, table: DatasetName) -> list[Writer]:
        """The jobs that write a table."""
        if str(table) not in self._writers:
            self._writers[str(table)] = self._ask_writers(table)
        return self._writers[str(table)]

    def applications(self, table: DatasetName) -> list[str]:
        """The applications that write a table, with their namespaces if they share a name.

        Each streaming query counts as one.
        """
        jobs = sorted({(one.application, one.namespace) for one in self.writers(table)})
        is_shared = len({name for name, _ in jobs}) < len(jobs)
        return [f"{name} of {space}" if is_shared else name for name, space in jobs]

    def namesakes(self, table: DatasetName, job: Mapping[str, Any]) -> str | None:
        """That applications of other namespaces with the name of a job write a table as well."""
        own, writers = job["namespace"], self.writers(table)
        same = (one for one in writers if (one.name, one.namespace) == (job["name"], own))
        name = next((one.application for one in same), job["name"])
        spaces = {one.namespace for one in writers if one.application == name}
        if not spaces - {own}:
            return None
        return _NAMESAKES.format(name, ", ".join(sorted({*spaces, own})))

    def _ask_writers(self, table: DatasetName) -> list[Writer]:
        told = self._ask("lineage", f"the table {table.name}", nodeId=str(table), depth=1,
                         detail="true")  # fmt: skip
        jobs = [
            node["data"]
            for node in (told or {}).get("graph", ())
            if any(edge["destination"] == str(table) for edge in node.get("outEdges", ()))
        ]
        return [
            Writer(job["namespace"], job["name"],
                   str((job.get("latestRun") or {}).get("state", "unknown")), _application(job))
            for job in jobs
        ]  # fmt: skip

    def failed_runs(self, job: Writer) -> list[FailedRun]:
        """The failed runs among the latest of a job, the last one first."""
        path = f"namespaces/{quote(job.namespace, '')}/jobs/{quote(job.name, '')}/runs"
        told = self._ask(path, f"the job {job.name}", limit=_RUNS)
        found = []
        for run in (told or {}).get("runs", ()):
            error = (run.get("facets") or {}).get("errorMessage") or {}
            message, trace = str(error.get("message", "")), str(error.get("stackTrace", ""))
            if run["state"] == "FAILED":
                line = failure_reason(message, trace)
                found.append(FailedRun(job.name, run["id"], line, f"{message}\n{trace}"))
        return found

    def note(self, text: str) -> None:
        """Keep what a reader should know besides."""
        self.notes[text] = None

    def _ask(self, path: str, what: str, **params: Any) -> dict[str, Any] | None:
        if not self.is_up:
            return None
        try:
            return self.server.ask(path, **params)
        except ServerUnreachable as error:
            self.is_up = False
            self.note(f"{error.message}: only what the table itself knows is shown")
        except RequestRefused as error:
            if error.status == _NOT_FOUND:
                self.note(f"no run has reported {what}: it was not captured, or not yet")
            else:
                self.note(f"the server refused to answer for {what}: {error.reason}")
        return None


def _application(job: Mapping[str, Any]) -> str:
    """The application that a batch write is a part of, as its run reports; else the job itself."""
    name, parent = str(job["name"]), job.get("parentJobName")
    is_part = parent and job.get("type") == "BATCH" and name.startswith(f"{parent}.")
    return str(parent) if is_part else name


def _formula(data: dict[str, Any]) -> Formula:
    direct, others, formula = list[str](), list[str](), None
    for one in data.get("inputFields") or ():
        name = f"{one.get('dataset')}.{one.get('field')}"
        told = one.get("transformations") or []
        is_direct = not told or any(each.get("type") == "DIRECT" for each in told)
        (direct if is_direct else others).append(name)
        for each in told:
            if is_direct and each.get("type") == "DIRECT" and each.get("description"):
                formula = formula or each["description"]
    return Formula(data["field"], formula, bool(direct), [*dict.fromkeys(direct or others)])
