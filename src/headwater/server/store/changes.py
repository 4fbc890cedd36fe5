"""Changes that people make through the API, beside events."""

from collections.abc import Callable
from typing import Any

import msgspec

from headwater.openlineage.events import Event
from headwater.openlineage.times import now
from headwater.server.store.database import Session
from headwater.server.store.run_owners import require_own_runs
from headwater.server.store.tables import add
from headwater.server.store.unit import Unit


def put_namespace(
    session: Session, unit: Unit, name: str, owner: str | None, text: str | None
) -> None:
    """Make a namespace, or change its owner; its description is given once."""
    clock = now()
    unit.namespace(name, clock)
    unit.flush()
    session.run(
        "UPDATE namespace SET owner = coalesce(?, owner), "
        "description = coalesce(description, ?), updated_at = ?, hidden = ? WHERE name = ?",
        owner, text, clock, False, name,
    )  # fmt: skip


def hide_namespace(session: Session, unit: Unit, name: str) -> None:
    """Hide a namespace with its jobs and datasets."""
    unit.flush()
    session.run("UPDATE namespace SET hidden = ? WHERE name = ?", True, name)
    for table in ("job", "dataset"):
        session.run(
            f"UPDATE {table} SET hidden = ? "
            "WHERE namespace = (SELECT id FROM namespace WHERE name = ?)", True, name,
        )  # fmt: skip
    unit.start_over()


def hide(session: Session, unit: Unit, table: str, number: int) -> None:
    """Hide a job or a dataset until an event names it again."""
    unit.flush()
    key = "root" if table == "dataset" else "id"
    session.run(f"UPDATE {table} SET hidden = ? WHERE {key} = ?", True, number)
    unit.start_over()


def put_source(
    session: Session, unit: Unit, name: str, kind: str, url: str | None, text: str | None
) -> None:
    """Make a source or change it."""
    unit.flush()
    clock = now()
    session.run(
        "INSERT INTO source (name, type, url, description, created_at, updated_at, url_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET type = excluded.type, "
        "url = excluded.url, description = excluded.description, "
        "updated_at = excluded.updated_at, url_at = excluded.url_at",
        name, kind, url, text, clock, clock, clock,
    )  # fmt: skip
    unit.sources.pop(name, None)


def put_tag(session: Session, _unit: Unit, name: str, text: str | None) -> None:
    """Make a tag or change what it means."""
    session.run(
        "INSERT INTO tag (name, description) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET description = excluded.description", name, text,
    )  # fmt: skip


def add_tag(session: Session, _unit: Unit, kind: str, target: int, field: str, tag: str) -> None:
    """Give a tag to a dataset, a field or a job."""
    session.run(
        "INSERT INTO tag (name, description) VALUES (?, ?) ON CONFLICT DO NOTHING", tag, None
    )
    session.run(add("tagging"), kind, target, field, tag)


def drop_tag(session: Session, _unit: Unit, kind: str, target: int, field: str, tag: str) -> None:
    """Take a tag away."""
    session.run(
        "DELETE FROM tagging WHERE kind = ? AND target = ? AND field = ? AND tag = ?",
        kind, target, field, tag,
    )  # fmt: skip


def create_run(
    _session: Session,
    unit: Unit,
    store: Callable[[list[Event]], int],
    event: Event,
    *,
    args: dict[str, Any],
    start: int | None,
    end: int | None,
) -> bool:
    """Store the event of a new run, with its arguments and nominal times; False if it exists.

    Raises: RunOfAnother.
    """
    require_own_runs(unit, event)
    uuid = event.run.bytes if event.run else b""
    unit.expect({uuid})
    if uuid in unit.run_ids:
        return False
    store([event])
    run = unit.run_row(unit.run_ids[uuid])
    run.args, run.nominal_start, run.nominal_end = msgspec.json.encode(args).decode(), start, end
    return True
