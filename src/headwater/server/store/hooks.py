"""Webhooks: who is told of what, and how far in the feed each has been told."""

import secrets
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from headwater.errors import UsageError
from headwater.openlineage.times import now
from headwater.server.store.database import Database, Session
from headwater.server.store.feed import feed_ends
from headwater.server.store.keys import note

KINDS = ("run.failed", "run.aborted", "lineage.changed", "schema.changed")


class Hook(NamedTuple):
    """A webhook; `position` is the number of the last entry of the feed it was told of."""

    id: int
    name: str
    url: str
    secret: str
    kinds: frozenset[str]
    node: str | None
    position: int


_COLUMNS = "id, name, url, secret, kinds, node, position"


def create_hook(
    database: Database, name: str, url: str, kinds: Iterable[str], node: str | None
) -> str:
    """Make a webhook; its secret is told.

    Raises: UsageError, when something of it cannot be.
    """
    wanted = [*dict.fromkeys(kinds)] or [*KINDS]
    if not {*wanted} <= {*KINDS}:
        raise UsageError(f"--on {', '.join(wanted)}", hint=f"Choose from {', '.join(KINDS)}")
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not an HTTP address", hint="Write https://host/path")
    secret = secrets.token_hex(32)
    with database.writing() as session:
        if session.all("SELECT 1 FROM webhook WHERE name = ?", name):
            raise UsageError(f"a webhook named {name!r} already exists", hint="Delete it first")
        session.run(
            "INSERT INTO webhook (name, url, secret, kinds, node, position, claimed_until, "
            "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            name, url, secret, ",".join(wanted), node, feed_ends(session)[1], 0, now(),
        )  # fmt: skip
        note(session, "command line", "webhook created", name, origin(url))
    return secret


def origin(url: str) -> str:
    """The scheme and host of an address; its user, path and query may be secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def delete_hook(database: Database, name: str) -> None:
    """Be done with a webhook.

    Raises: UsageError, when there is none of the name.
    """
    find_hook(database, name)
    with database.writing() as session:
        session.run("DELETE FROM webhook WHERE name = ?", name)
        note(session, "command line", "webhook deleted", name, "")


def find_hook(database: Database, name: str) -> Hook:
    """A webhook by name.

    Raises: UsageError, when there is none.
    """
    with database.reading() as session:
        found = [hook for hook in list_hooks(session) if hook.name == name]
    if not found:
        raise UsageError(f"no webhook is named {name!r}", hint="See `headwater webhook list`")
    return found[0]


def list_hooks(session: Session) -> list[Hook]:
    """Every webhook."""
    rows = session.all(f"SELECT {_COLUMNS} FROM webhook ORDER BY id")
    return [
        Hook(number, name, url, secret, frozenset(kinds.split(",")), node, position)
        for number, name, url, secret, kinds, node, position in rows
    ]


def claim(session: Session, hook: Hook, seconds: float) -> bool:
    """Take a webhook for a while, unless another server has it or has gone further."""
    clock = now()
    rows = session.all(
        "UPDATE webhook SET claimed_until = ? WHERE id = ? AND position = ? AND claimed_until < ? "
        "RETURNING id", clock + int(seconds * 1e6), hook.id, hook.position, clock,
    )  # fmt: skip
    return bool(rows)


def settle(session: Session, hook: Hook, position: int, wait: float) -> None:
    """Note how far a webhook was told; after a failure it waits."""
    until = now() + int(wait * 1e6) if wait else 0
    session.run(
        "UPDATE webhook SET position = ?, claimed_until = ? WHERE id = ?", position, until, hook.id
    )
