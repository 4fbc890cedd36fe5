"""The rows of namespaces and data sources, found or made in a commit."""

from headwater.server.store.commit import Commit
from headwater.server.store.rows import NEVER
from headwater.server.store.tables import insert, select

_INSERT = insert("namespace")
_OLDER = (
    "UPDATE namespace SET updated_at = CASE WHEN updated_at = created_at THEN ? "
    "ELSE updated_at END, created_at = ? WHERE id = ?"
)


def namespace_id(commit: Commit, name: str, time: int) -> int:
    """The id of a namespace, made if it is new; it is as old as its oldest event."""
    cache = commit.cache
    number, since = cache.namespaces.get(name) or _find_or_make(commit, name, time)
    if name in cache.hidden_namespaces and commit.may_restore(name):
        cache.hidden_namespaces.discard(name)
        commit.session.run("UPDATE namespace SET hidden = ? WHERE id = ?", False, number)
    if time < since:
        cache.namespaces[name] = number, time
        commit.session.run(_OLDER, time, time, number)
    return number


def _find_or_make(commit: Commit, name: str, time: int) -> tuple[int, int]:
    cache = commit.cache
    rows = commit.session.all("SELECT id, created_at, hidden FROM namespace WHERE name = ?", name)
    if not rows:
        rows = [(cache.new_id("namespace"), time, False)]
        commit.session.run(_INSERT, rows[0][0], name, "anonymous", None, time, time, False)
    ((number, since, is_hidden),) = rows
    if is_hidden:
        cache.hidden_namespaces.add(name)
    cache.namespace_names[number] = name
    known = cache.namespaces[name] = number, since
    return known


def namespace_name(commit: Commit, number: int) -> str:
    """The name of a namespace by id."""
    name = commit.cache.namespace_names.get(number)
    if name is None:
        ((name,),) = commit.session.all("SELECT name FROM namespace WHERE id = ?", number)
        commit.cache.namespace_names[number] = name
    return name


def record_source(commit: Commit, name: str, url: str | None, time: int) -> None:
    """Note a data source, first and last named at some time."""
    sources = commit.cache.sources
    row = sources.get(name)
    if row is not None and row[2] == url and row[4] <= time <= (row[6] or NEVER):
        return
    before = row
    if row is None:
        found = commit.session.all(f"{select('source')} WHERE name = ?", name)
        before = found[0] if found else None
        row = before or (name, "POSTGRESQL", None, None, time, time, None)
    if url and (row[6] is None or (time, url) > (row[6], row[2] or "")):
        row = (*row[:2], url, *row[3:6], time)
    sources[name] = (*row[:4], min(row[4], time), max(row[5], time), row[6])
    if sources[name] != before:
        commit.changed_sources.add(name)
