"""API keys: what one allows, how it is sent, and files of them.

A key is `hw_` and 43 random letters. Only its SHA-256 is kept, which is enough where the key
itself cannot be guessed. The server keeps keys in its store, a worker in a file.
"""

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headwater.errors import UsageError

if TYPE_CHECKING:
    from litestar.types import HTTPScope

READ, WRITE, ADMIN = "read", "write", "admin"
SCOPES = (READ, WRITE, ADMIN)


class Key(NamedTuple):
    """A key, but for the key itself."""

    id: int
    name: str
    scopes: frozenset[str]
    namespaces: tuple[str, ...] = ()
    created_at: int = 0
    revoked_at: int | None = None

    def may(self, scope: str) -> bool:
        """Whether the key allows what needs a scope; admin allows everything."""
        return scope in self.scopes or ADMIN in self.scopes

    @property
    def is_limited(self) -> bool:
        """Whether the key is for some namespaces only."""
        return bool(self.namespaces)

    def covers(self, namespace: str) -> bool:
        """Whether a namespace is one of the key's."""
        return not self.namespaces or namespace.startswith(self.namespaces)


def new_key() -> str:
    """A key that nobody can guess."""
    return "hw_" + secrets.token_urlsafe(32)


def hashed(key: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).digest()


def check_scopes(scopes: Iterable[str]) -> list[str]:
    """Scopes without repeats.

    Raises: UsageError, when there is none or one is unknown.
    """
    wanted = [*dict.fromkeys(scopes)]
    if not wanted or not {*wanted} <= {*SCOPES}:
        raise UsageError(
            f"{', '.join(wanted) or 'nothing'} is not a scope",
            hint=f"Choose from {', '.join(SCOPES)}",
        )
    return wanted


def bearer(scope: "HTTPScope") -> str | None:
    """The key that a request carries; None where it carries none, or more than one."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return None
    kind, _, text = given[0].decode("latin-1").partition(" ")
    return text.strip() or None if kind.lower() == "bearer" else None


class KeyFile:
    """Keys in a file, one a line: name, scopes joined by commas, SHA-256 in hexadecimal.

    The file is read again when it has changed, so that a line taken out is a key revoked. Where a
    key file is configured a key is needed, also while the file is empty or missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: tuple[int, int, int] | None = None
        self._keys: dict[bytes, Key] = {}
        self.keys()

    def find(self, key: str | None) -> Key | None:
        """The valid key of that text."""
        return None if key is None else self.keys().get(hashed(key))

    def keys(self) -> dict[bytes, Key]:
        """Every key of the file, by its hash.

        Raises: UsageError, when a line is not a key.
        """
        try:
            status = self._path.stat()
            state = (status.st_mtime_ns, status.st_size, status.st_ino)
            if state != self._state:
                self._keys = _parse(self._path.read_text())
                self._state = state
        except FileNotFoundError:
            self._keys, self._state = {}, None
        return self._keys

    def create(self, name: str, scopes: Iterable[str]) -> str:
        """Add a key, and return it: it is kept nowhere.

        Raises: UsageError, when the name is taken or a scope is unknown.
        """
        wanted, key = check_scopes(scopes), new_key()
        if not name or any(letter.isspace() for letter in name) or name.startswith("#"):
            raise UsageError(f"{name!r} cannot name a key", hint="Give a name without spaces")
        if any(known.name == name for known in self.keys().values()):
            raise UsageError(
                f"a key named {name!r} already exists",
                hint="Revoke it first, or choose another name",
            )
        line = f"{name} {','.join(wanted)} {hashed(key).hex()}\n"
        text = self._path.read_text() if self._path.exists() else ""
        self._write(f"{text.rstrip()}\n{line}".lstrip())
        return key

    def revoke(self, name: str) -> None:
        """Take a key out.

        Raises: UsageError, when there is none of the name.
        """
        if not any(known.name == name for known in self.keys().values()):
            raise UsageError(f"no key is named {name!r}", hint=f"See {self._path}")
        lines = self._path.read_text().splitlines(keepends=True)
        self._write("".join(line for line in lines if line.split()[:1] != [name]))

    def _write(self, text: str) -> None:
        """Replace the file at once, for its owner only."""
        new = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(self._path)


def _parse(text: str) -> dict[bytes, Key]:
    found: dict[bytes, Key] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, scopes, digest = line.split()
            key = Key(number, name, frozenset(check_scopes(scopes.split(","))))
            found[bytes.fromhex(digest)] = key
        except ValueError:
            raise UsageError(
                f"line {number} of the key file is not a key", hint="Write: NAME SCOPES SHA256"
            ) from None
    return found
