"""The one form in which a request's path is accepted.

Routers, middleware and proxies disagree about `//`, `/./`, backslashes and the like. A path
that could be read in two ways is refused before anything looks at it, so that everything behind
sees one form.
"""

import re
from functools import lru_cache

# Segments of RFC 3986's path characters, none of them empty; one slash may end the path.
_NORMAL = re.compile(rb"/(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+(?:/|$))*")
# `.` and `..`, however they are escaped, and characters that no name may hold.
_FORBIDDEN = re.compile(rb"/(?:\.|%2[eE]){1,2}(?:/|$)|%00")


@lru_cache(64)
def normal_path(raw: bytes) -> str | None:
    """The path without a slash at its end, its escapes kept; None if it is not in normal form."""
    if _NORMAL.fullmatch(raw) is None or _FORBIDDEN.search(raw) is not None:
        return None
    return raw.decode("ascii").rstrip("/") or "/"
