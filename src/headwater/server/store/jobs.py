"""The rows of jobs, found or made in a commit."""

from headwater.server.store.commit import Commit
from headwater.server.store.namespaces import namespace_id, namespace_name
from headwater.server.store.rows import JobRow
from headwater.server.store.tables import select

_SELECT = select("job")


def find_job(commit: Commit, namespace: str, name: str, time: int) -> JobRow:
    """The row of a job, made if it is new."""
    cache = commit.cache
    number = cache.job_ids.get((namespace, name))
    if number is None:
        number = _find_or_make(commit, namespace, name, time)
    row = cache.jobs[number]
    if time < row.created_at:
        namespace_id(commit, namespace, time)
        row.created_at = time
    row.updated_at = max(row.updated_at, time)
    commit.changed_jobs.add(number)
    return row


def _find_or_make(commit: Commit, namespace: str, name: str, time: int) -> int:
    cache, place = commit.cache, namespace_id(commit, namespace, time)
    rows = commit.session.all(f"{_SELECT} WHERE namespace = ? AND name = ?", place, name)
    if rows:
        row = JobRow.of(rows[0])
    else:
        row = JobRow(cache.new_id("job"), place, name, time, time)
        commit.add("search", name, "J", row.id)
    cache.job_ids[namespace, name] = row.id
    cache.jobs.setdefault(row.id, row)
    return row.id


def job_row(commit: Commit, number: int) -> JobRow:
    """The row of a job by id."""
    row = commit.cache.jobs.get(number)
    if row is None:
        (found,) = commit.session.all(f"{_SELECT} WHERE id = ?", number)
        row = commit.cache.jobs[number] = JobRow.of(found)
    return row


def job_name(commit: Commit, number: int) -> tuple[str, str]:
    """The namespace and the name of a job."""
    row = job_row(commit, number)
    return namespace_name(commit, row.namespace), row.name
