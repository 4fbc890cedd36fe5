"""What every answer is made of.

An answer may hold a hundred thousand of these, none in a cycle: `gc=False` spares the collector
from looking through them. Where speed counts, a writer puts JSON that it has at hand
(`msgspec.Raw`) in the place of a member; a test holds every answer against what is declared.
"""

from typing import Any

from msgspec import Struct

Facets = dict[str, Any]


class Answer(Struct, rename="camel", gc=False):
    """Part of an answer, with every member sent that cannot be unset.

    A default is for those who read: a key with namespaces is told only the names of what is not
    in them.
    """


class Name(Struct, frozen=True, gc=False):
    """A dataset's or job's name."""

    namespace: str
    name: str


class VersionedName(Struct, frozen=True, gc=False):
    """A name with a version of it."""

    namespace: str
    name: str
    version: str
