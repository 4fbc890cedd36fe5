"""Changes that people make through the API, beside events."""

from typing import Any

import msgspec

from headwater.openlineage.events import Event
from headwater.openlineage.times import now
from headwater.server.store.apply import store_events
from headwater.server.store.commit import Commit
from headwater.server.store.namespaces import namespace_id
from headwater.server.store.run_owners import require_own_runs
from headwater.server.store.runs import read_runs, run_row
from headwater.server.store.tables import add


def put_namespace(commit: Commit, name: str, owner: str | None, text: str | None) -> None:
    """Make a namespace, or change its owner; its description is given once."""
    clock = now()
    namespace_id(commit, name, clock)
    commit.session.run(
        "UPDATE namespace SET owner = coalesce(?, owner), "
        "description = coalesce(description, ?), updated_at = ?, hidden = ? WHERE name = ?",
        owner, text, clock, False, name,
    )  # fmt: skip


def hide_namespace(commit: Commit, name: str) -> None:
    """Hide a namespace with its jobs and datasets."""
    commit.session.run("UPDATE namespace SET hidden = ? WHERE name = ?", True, name)
    for table in ("job", "dataset"):
        commit.session.run(
            f"UPDATE {table} SET hidden = ? "
            "WHERE namespace = (SELECT id FROM namespace WHERE name = ?)", True, name,
        )  # fmt: skip
    commit.clear_cache()


def hide(commit: Commit, table: str, number: int) -> None:
    """Hide a job or a dataset until an event names it again."""
    key = "root" if table == "dataset" else "id"
    commit.session.run(f"UPDATE {table} SET hidden = ? WHERE {key} = ?", True, number)
    commit.clear_cache()


def put_source(commit: Commit, name: str, kind: str, url: str | None, text: str | None) -> None:
    """Make a source or change it."""
    clock = now()
    commit.session.run(
        "INSERT INTO source (name, type, url, description, created_at, updated_at, url_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET type = excluded.type, "
        "url = excluded.url, description = excluded.description, "
        "updated_at = excluded.updated_at, url_at = excluded.url_at",
        name, kind, url, text, clock, clock, clock,
    )  # fmt: skip
    commit.cache.sources.pop(name, None)


def put_tag(commit: Commit, name: str, text: str | None) -> None:
    """Make a tag or change what it means."""
    commit.session.run(
        "INSERT INTO tag (name, description) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET description = excluded.description", name, text,
    )  # fmt: skip


def add_tag(commit: Commit, kind: str, target: int, field: str, tag: str) -> None:
    """Give a tag to a dataset, a field or a job."""
    commit.session.run(
        "INSERT INTO tag (name, description) VALUES (?, ?) ON CONFLICT DO NOTHING", tag, None
    )
    commit.session.run(add("tagging"), kind, target, field, tag)


def drop_tag(commit: Commit, kind: str, target: int, field: str, tag: str) -> None:
    """Take a tag away."""
    commit.session.run(
        "DELETE FROM tagging WHERE kind = ? AND target = ? AND field = ? AND tag = ?",
        kind, target, field, tag,
    )  # fmt: skip


def create_run(
    commit: Commit,
    event: Event,
    *,
    args: dict[str, Any],
    start: int | None,
    end: int | None,
) -> bool:
    """Store the event of a new run, with its arguments and nominal times; False if it exists.

    Raises: RunOfAnother.
    """
    require_own_runs(commit, event)
    uuid = event.run.bytes if event.run else b""
    read_runs(commit, {uuid})
    if uuid in commit.cache.run_ids:
        return False
    store_events(commit, [event])
    run = run_row(commit, commit.cache.run_ids[uuid])
    run.args, run.nominal_start, run.nominal_end = msgspec.json.encode(args).decode(), start, end
    return True
