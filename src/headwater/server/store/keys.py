"""API keys and the audit log: who may do what, and who did what.

Keys are few; a server holds all of them in memory and reads them again every second.
"""

from collections.abc import Iterable
from typing import Any

from headwater.errors import UsageError
from headwater.http.keys import Key, check_scopes, hashed, new_key
from headwater.openlineage.masking import mask_text
from headwater.openlineage.times import now
from headwater.server.store.database import Database, Session

_LIMITS = "\n"  # between the namespaces of a key


def create_key(
    database: Database, name: str, scopes: Iterable[str], namespaces: Iterable[str] = ()
) -> str:
    """Make a key, for some namespaces or for all, and return it: it is kept nowhere.

    Raises: UsageError, when the name is taken, a scope is unknown or a prefix is empty.
    """
    wanted, key = check_scopes(scopes), new_key()
    limits = _LIMITS.join(_checked(namespaces))
    with database.writing() as session:
        if session.all("SELECT 1 FROM api_key WHERE name = ? AND revoked_at IS NULL", name):
            raise UsageError(
                f"a key named {name!r} already exists",
                hint="Revoke it first, or choose another name",
            )
        session.run(
            "INSERT INTO api_key (hash, name, scopes, namespace, created_at) "
            "VALUES (?, ?, ?, ?, ?)",
            hashed(key), name, ",".join(wanted), limits, now(),
        )  # fmt: skip
        note(session, "command line", "key created", name, f"{','.join(wanted)} {limits}")
    return key


def _checked(namespaces: Iterable[str]) -> list[str]:
    """Prefixes without repeats; an empty one would be that of every namespace."""
    prefixes = [*dict.fromkeys(namespaces)]
    for prefix in prefixes:
        if not prefix.strip() or _LIMITS in prefix:
            raise UsageError(
                f"{prefix!r} is not a prefix of namespaces",
                hint="Give the text that the key's namespaces begin with, "
                "or no namespace for a key to all of them",
            )
    return prefixes


def revoke_key(database: Database, name: str) -> None:
    """Let a key be valid no more.

    Raises: UsageError, when there is none of the name.
    """
    with database.writing() as session:
        if not session.all("SELECT 1 FROM api_key WHERE name = ? AND revoked_at IS NULL", name):
            raise UsageError(f"no key is named {name!r}", hint="See `headwater key list`")
        session.run(
            "UPDATE api_key SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", now(), name
        )
        note(session, "command line", "key revoked", name, "")


def list_keys(session: Session) -> dict[bytes, Key]:
    """Every key there was, by its hash."""
    rows = session.all(
        "SELECT hash, id, name, scopes, namespace, created_at, revoked_at FROM api_key ORDER BY id"
    )
    return {bytes(row[0]): _key(*row[1:]) for row in rows}


def _key(number: int, name: str, scopes: str, limits: str, created: int, revoked: Any) -> Key:
    namespaces = tuple(filter(None, limits.split(_LIMITS)))
    return Key(number, name, frozenset(scopes.split(",")), namespaces, created, revoked)


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
