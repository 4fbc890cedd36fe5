"""API keys and the audit log: who may do what, and who did what.

A key is `hw_` and 43 letters of chance; only its SHA-256 is kept, which is enough of a secret
where the key itself cannot be guessed. Keys are few and all at hand, read again every second.
"""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.errors import UsageError
from headwater.openlineage.masking import mask_text
from headwater.openlineage.times import now
from headwater.server.store.database import Database, Session

READ, WRITE, ADMIN = "read", "write", "admin"
SCOPES = (READ, WRITE, ADMIN)


class Key(NamedTuple):
    """A key, but for the key itself."""

    id: int
    name: str
    scopes: frozenset[str]
    namespace: str
    created_at: int
    revoked_at: int | None

    def may(self, scope: str) -> bool:
        """Whether the key allows what needs a scope; admin allows everything."""
        return scope in self.scopes or ADMIN in self.scopes

    def covers(self, namespace: str) -> bool:
        """Whether the key may write to a namespace."""
        return namespace.startswith(self.namespace)


def hashed(key: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).digest()


def create_key(database: Database, name: str, scopes: Iterable[str], namespace: str) -> str:
    """Make a key; it is told this once.

    Raises: UsageError, when the name is taken or a scope is none.
    """
    wanted = [*dict.fromkeys(scopes)]
    if not wanted or not {*wanted} <= {*SCOPES}:
        raise UsageError(
            f"{', '.join(wanted) or 'nothing'} is no scope",
            hint=f"Give some of {', '.join(SCOPES)}",
        )
    key = "hw_" + secrets.token_urlsafe(32)
    with database.writing() as session:
        if session.all("SELECT 1 FROM api_key WHERE name = ? AND revoked_at IS NULL", name):
            raise UsageError(
                f"there is a key named {name!r}", hint="Revoke it first, or give another name"
            )
        session.run(
            "INSERT INTO api_key (hash, name, scopes, namespace, created_at) "
            "VALUES (?, ?, ?, ?, ?)",
            hashed(key), name, ",".join(wanted), namespace, now(),
        )  # fmt: skip
        note(session, "command line", "key created", name, f"{','.join(wanted)} {namespace}")
    return key


def revoke_key(database: Database, name: str) -> None:
    """Let a key be valid no more.

    Raises: UsageError, when there is none of the name.
    """
    with database.writing() as session:
        if not session.all("SELECT 1 FROM api_key WHERE name = ? AND revoked_at IS NULL", name):
            raise UsageError(f"there is no key named {name!r}", hint="See `headwater key list`")
        session.run(
            "UPDATE api_key SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", now(), name
        )
        note(session, "command line", "key revoked", name, "")


def list_keys(session: Session) -> dict[bytes, Key]:
    """Every key there was, by its hash."""
    rows = session.all(
        "SELECT hash, id, name, scopes, namespace, created_at, revoked_at FROM api_key ORDER BY id"
    )
    return {
        bytes(row[0]): Key(row[1], row[2], frozenset(row[3].split(",")), *row[4:]) for row in rows
    }


def note(session: Session, who: str, action: str, target: str, detail: str) -> None:
    """Write down who did what; an address in it may hold credentials."""
    session.run(
        "INSERT INTO audit (at, who, action, target, detail) VALUES (?, ?, ?, ?, ?)",
        now(), who, action, mask_text(target), mask_text(detail),
    )  # fmt: skip


def read_audit(session: Session, limit: int, offset: int) -> list[tuple[Any, ...]]:
    """What was written down, latest first."""
    return session.all(
        "SELECT at, who, action, target, detail FROM audit ORDER BY id DESC LIMIT ? OFFSET ?",
        limit, offset,
    )  # fmt: skip
