"""Jobs and their versions."""

from typing import Any

from headwater.api.base import Name, VersionedName
from headwater.api.graph import JobData
from headwater.api.jobs import Job, JobVersion
from headwater.api.runs import Run
from headwater.server.lineage.facets import FacetBook, job_facets
from headwater.server.lineage.jobs import JobRowShown, job_rows, job_tags
from headwater.server.lineage.runs import LATEST, LISTED, latest_runs
from headwater.server.lineage.text_search import has_text
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.marquez.runs import RunWriter, empty_version
from headwater.server.store.apply_runs import DECLARATION
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

# Rows of runs, and of job events, that make a version of their job.
_VERSIONED = f"(version IS NOT NULL OR ended_at IS NOT NULL OR state = '{DECLARATION}')"
Edges = dict[tuple[int, int], list[Name]]


def edge_names(view: StoreView, jobs: list[int]) -> Edges:
    """The names of what jobs read and write at the moment, by (job, io)."""
    rows = view.session.all(
        "SELECT e.job, e.io, d.root FROM edge e JOIN dataset d ON d.id = e.dataset "
        "JOIN dataset r ON r.id = d.root "
        "WHERE e.job = ANY(?) AND e.since <= ? AND e.until > ? AND NOT r.hidden",
        jobs, view.at, view.at,
    )  # fmt: skip
    found: dict[tuple[int, int], set[int]] = {}
    for job, io, root in rows:
        found.setdefault((job, io), set()).add(root)
    known = view.names.of({row[2] for row in rows})  # each once, however many jobs read it
    names = {root: Name(*name) for root, name in known.items()}
    return {
        key: [names[root] for root in sorted(roots, key=known.__getitem__)]
        for key, roots in found.items()
    }


def job_node(row: JobRowShown, inputs: list[Name], outputs: list[Name], run: Run | None) -> JobData:
    """A job as a node of a graph."""
    return JobData(
        Name(row.namespace, row.name), row.type, row.name, row.simple_name, row.namespace,
        row.parent[1] if row.parent else None, row.parent_uuid, run.id if run else None,
        moment(row.created_at), moment(row.updated_at), inputs, outputs,
        row.location, row.description, run,
    )  # fmt: skip


def jobs(view: StoreView, ids: list[int]) -> list[Job]:
    """Jobs with everything known of them, in the order asked for."""
    rows, edges = job_rows(view, ids), edge_names(view, ids)
    latest = latest_runs(view, ids, LATEST)
    declared = _declared_versions(view, rows, {*ids} - latest.keys())
    book = FacetBook(view, [job_facets(rows[number].facets) for number in ids if number in rows])
    writer = RunWriter(view, [run for number in ids for run in latest.get(number, ())])
    tags = job_tags(view, ids)
    return [
        _job(
            rows[number], edges, [writer.write(run) for run in latest.get(number, ())],
            book, tags.get(number, []), declared.get(number),
        )
        for number in ids
        if number in rows
    ]  # fmt: skip


def _job(
    row: JobRowShown, edges: Edges, runs: list[Run], book: FacetBook, tags: list[str],
    declared: tuple[int, bytes] | None,
) -> Job:  # fmt: skip
    run = next((run for run in runs if run.job_version), None)
    version = run.job_version.version if run and run.job_version else None
    if declared is not None and (run is None or run.created_at <= moment(declared[0])):
        version = uuid_text(declared[1])
    return Job(
        Name(row.namespace, row.name), row.type, row.name, row.simple_name,
        row.parent[1] if row.parent else None, row.parent_uuid, moment(row.created_at),
        moment(row.updated_at), row.namespace, edges.get((row.id, INPUT), []),
        edges.get((row.id, OUTPUT), []), row.location, row.description,
        runs[0] if runs else None, runs, book.get(job_facets(row.facets)), version, row.labels,
        tags,
    )  # fmt: skip


def _declared_versions(
    view: StoreView, rows: dict[int, JobRowShown], without_runs: set[int]
) -> dict[int, tuple[int, bytes]]:
    """Of jobs whose datasets a job event tells, when it did and the version that it makes."""
    found = view.session.all(
        "SELECT j.id, r.created_at, r.version FROM job j "
        "JOIN run r ON r.id IN (j.in_run, j.out_run) "
        f"WHERE j.id = ANY(?) AND r.state = '{DECLARATION}'", [*rows],
    )  # fmt: skip
    if without_runs:
        found += view.session.all(
            "SELECT job, created_at, version FROM run "
            f"WHERE job = ANY(?) AND state = '{DECLARATION}'", [*without_runs],
        )  # fmt: skip
    latest: dict[int, tuple[int, bytes]] = {}
    for job, created_at, version in found:
        told = (created_at, version or empty_version(rows[job].namespace, rows[job].name))
        latest[job] = max(latest.get(job, told), told)
    return latest


def list_children(view: StoreView, job: int, limit: int, offset: int) -> tuple[list[Job], int]:
    """A page of the jobs that a job starts, by name, and how many there are."""
    own, params = view.scope.within("namespace")
    where = f"FROM job WHERE parent = ? AND NOT hidden{own}"
    rows = view.session.all(
        f"SELECT id {where} ORDER BY name, id LIMIT ? OFFSET ?", job, *params, limit, offset
    )
    ((total,),) = view.session.all(f"SELECT count(*) {where}", job, *params)
    return jobs(view, [row[0] for row in rows]), total


def list_jobs(
    view: StoreView, namespace: str | None, states: list[str], limit: int, offset: int,
    text: str = "", names: list[str] | None = None,
) -> tuple[list[Job], int]:  # fmt: skip
    """A page of jobs, latest first, and how many there are."""
    where, params = "WHERE NOT j.hidden", list[Any]()
    if text:
        condition, wanted = has_text(view.session.dialect, "j.name", text)
        where += f" AND {condition}"
        params += wanted
    if names:
        where += f" AND j.name IN ({', '.join('?' * len(names))})"
        params += names
    if namespace is not None:
        where += " AND j.namespace = (SELECT id FROM namespace WHERE name = ?)"
        params.append(namespace)
    if states:
        marks = ", ".join("?" * len(states))
        where += (
            " AND (SELECT r.state FROM run r WHERE r.job = j.id "
            f"AND r.{LISTED} ORDER BY r.created_at DESC, r.uuid DESC LIMIT 1) IN ({marks})"
        )
        params += states
    rows = view.session.all(
        f"SELECT j.id FROM job j {where} ORDER BY j.updated_at DESC, j.name LIMIT ? OFFSET ?",
        *params, limit, offset,
    )  # fmt: skip
    total = view.session.all(f"SELECT count(*) FROM job j {where}", *params)[0][0]
    return jobs(view, [row[0] for row in rows]), total


def versions(
    view: StoreView, job: int, version: bytes | None, limit: int, offset: int
) -> tuple[list[JobVersion], int]:
    """Versions of a job, latest first: what some of its runs, or a job event, read and wrote."""
    row = job_rows(view, [job])[job]
    rows = view.session.all(
        "SELECT version, min(created_at), min(coalesce(ended_at, created_at)) FROM run "
        f"WHERE job = ? AND {_VERSIONED} GROUP BY version", job,
    )  # fmt: skip
    empty = empty_version(row.namespace, row.name)
    told = [(found[0] or empty, *found) for found in rows]
    told.sort(key=lambda found: (found[2], found[0]), reverse=True)
    if version is not None:
        told = [found for found in told if found[0] == version]
    page = told[offset : offset + limit]
    return [_version(view, row, *found) for found in page], len(told)


def _version(
    view: StoreView, job: JobRowShown, shown: bytes, version: bytes | None, begun: int, ended: int
) -> JobVersion:
    which, params = ("version = ?", [version]) if version is not None else ("version IS NULL", [])
    rows = view.session.all(
        f"SELECT * FROM run WHERE job = ? AND {which} AND {_VERSIONED} "
        f"ORDER BY {LISTED} DESC, created_at DESC, uuid DESC LIMIT 1", job.id, *params,
    )  # fmt: skip
    runs = [RunRow.of(row) for row in rows]
    writer = RunWriter(view, runs, of_job=True)
    run = writer.write(runs[0])
    inputs, outputs = (
        [Name(d.dataset_version_id.namespace, d.dataset_version_id.name) for d in found]
        for found in (run.input_dataset_versions, run.output_dataset_versions)
    )
    # A batch job's version is known when its first run has ended.
    since = begun if job.type == "STREAM" else ended
    text = uuid_text(shown)
    return JobVersion(
        VersionedName(job.namespace, job.name, text), job.name, moment(since), text,
        job.namespace, job.location, inputs, outputs,
        None if run.state == DECLARATION else run,
    )  # fmt: skip
