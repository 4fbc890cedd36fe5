"""What each route declares: the scope it needs, and how it holds keys that have namespaces.

A route without a declaration is refused to everyone. Declarations stand at the handlers, never at
a controller, so that a new handler inherits none.
"""

from enum import Enum
from typing import Any, NamedTuple

from headwater.http.keys import ADMIN, READ, WRITE

OPEN = "open"  # for everyone, with a key or without


class Within(Enum):
    """How a route holds a key with namespaces to them."""

    NOWHERE = "refused: what it answers is not of one namespace"
    PATH = "the namespace in its path must be one of the key's"
    ANSWER = "it leaves out of its answer what is not of the key's namespaces"


class Access(NamedTuple):
    """Who may use a route."""

    scope: str
    within: Within


def access(scope: str, within: Within = Within.NOWHERE) -> dict[str, Any]:
    """A declaration, as the `opt` of a handler."""
    return {"access": Access(scope, within)}


ANYONE = access(OPEN, Within.ANSWER)
READS_ALL, READS_PATH, READS_SOME = (access(READ, within) for within in Within)
WRITES_ALL, WRITES_PATH, WRITES_SOME = (access(WRITE, within) for within in Within)
ADMINISTERS_ALL, ADMINISTERS_PATH = access(ADMIN), access(ADMIN, Within.PATH)
