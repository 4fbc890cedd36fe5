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
    QUERY = "a namespace must be asked for, and be one of the key's"
    RUN = "the run must be of a job of the key's namespaces"
    NODE = "the node must be of the key's namespaces"
    HANDLER = "the handler sees to it"


class Access(NamedTuple):
    """Who may use a route."""

    scope: str
    within: Within


def access(scope: str, within: Within = Within.NOWHERE) -> dict[str, Any]:
    """A declaration, as the `opt` of a handler."""
    return {"access": Access(scope, within)}


ANYONE = access(OPEN, Within.HANDLER)
READS_ALL, READS_PATH = access(READ), access(READ, Within.PATH)
READS_QUERY, READS_RUN = access(READ, Within.QUERY), access(READ, Within.RUN)
READS_NODE, READS_SOME = access(READ, Within.NODE), access(READ, Within.HANDLER)
WRITES_ALL, WRITES_PATH = access(WRITE), access(WRITE, Within.PATH)
WRITES_RUN, WRITES_SOME = access(WRITE, Within.RUN), access(WRITE, Within.HANDLER)
ADMINISTERS_ALL, ADMINISTERS_PATH = access(ADMIN), access(ADMIN, Within.PATH)
