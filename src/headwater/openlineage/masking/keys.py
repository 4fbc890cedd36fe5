"""Tells by its name whether a key, an option or a variable holds a secret.

Names are compared in ASCII lower case with every separator as `_`. `PHRASES` match anywhere in a
name; `LAST_WORDS` only as its last word, because they also begin or end ordinary words
(`passenger`, `author`).
"""

import re
from functools import lru_cache

# The words of a phrase stand together or with one separator between them.
PHRASES: tuple[tuple[str, ...], ...] = (
    ("passw",), ("passphrase",), ("passcode",), ("kennwort",), ("secret",), ("token",),
    ("credential",), ("jaas",), ("authorization",), ("cookie",), ("user", "info"),
    ("connection", "string"), ("webhook", "url"), ("client", "assertion"),
    ("shared", "access", "signature"), ("azure", "sas"), ("session", "id"),
    *((word, "key") for word in (
        "api", "access", "private", "account", "client", "shared", "signing", "signature",
        "encryption", "decryption", "cipher", "crypto", "master", "storage", "ssh", "rsa", "pgp",
        "gpg", "hmac", "aws", "keystore", "license", "subscription", "webhook", "deploy",
    )),
)  # fmt: skip
LAST_WORDS = ("pass", "pwd", "pw", "psk", "otp", "jwt", "sig", "auth", *(
    f"{owner}{short}"
    for owner in ("db", "user", "root", "admin", "smtp", "ftp", "ldap", "redis", "pg")
    for short in ("pass", "pwd")
))  # fmt: skip
SEPARATORS = " ._-/:"

_JOINED = "|".join("_?".join(phrase) for phrase in PHRASES)
_PHRASES = re.compile(_JOINED.replace("secret", "secret(?!ar)").replace("token", "token(?!i[sz])"))
_LAST = re.compile(rf"(?:^|_)(?:{'|'.join(LAST_WORDS)})$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_FOLDED = str.maketrans(
    {**dict.fromkeys(SEPARATORS, "_"), **{chr(c): chr(c + 32) for c in range(65, 91)}}
)
# A name that ends so tells something about a secret: where it is, or of what kind.
_ABOUT = re.compile(
    r"_(?:types?|ur[il]s?|endpoints?|names?|ttl|expir(?:y|es|ation|es_(?:in|at))|size|length|limit|"
    r"count|enabled|required|class|classname|provider|algorithm|format|version|columns?|fields?|"
    r"policy|lifetime|interval|timeout|ms|seconds|scope|arn|path|file|location|manager|service|"
    r"used|usage|budget|index|refs?|reference|status|state|symbol|kind|issuer|label|description|desc|"
    r"owner|category|level|strength|decimals|price|amount|balance|supply|network|chain|contract|method|"
    r"mechanism|created|updated|changed|rotated|rotation|attempts|(?:created|updated|changed|issued)_"
    r"(?:at|on|by)|expired|verified|valid|present)$"
    # Whether there is one.
    r"|^(?:is|has|needs|requires|existing)_"
)
# So many tokens of a text, which no secret is.
_COUNTED = re.compile(
    r"(?:^|_)(?:max|min|num|n|total|avg|prompt|completion|input|output|generated)"
    r"(?:_(?:new|prompt|completion|input|output|total|context|thinking|cached)){0,3}_tokens$"
    r"|(?:^|_)tokens_per_[a-z]+$"
)
_ADDRESS_OF = re.compile(r"webhook_?ur[il]s?$")
_PASSES = re.compile(
    r"(?:first|second|last|single|multi|one|two|by|all|next|forward|backward|render|low|high|band)"
    r"_pass$"
)
_OWN_VALUES = re.compile(r"session_?id|(?:^|_)sig$")
_LONGEST_CACHED = 200


def is_sensitive(name: str) -> bool:
    """Whether the value of a key is a secret, by the key's name."""
    return _cached(name) if len(name) <= _LONGEST_CACHED else _judge(name)


def is_sensitive_in_text(name: str) -> bool:
    """Whether what a text assigns to a name is a secret.

    Session ids are compared in many queries (`a.session_id = b.session_id`), and code calls
    signatures of functions `sig`: they are masked only as values of their own.
    """
    return is_sensitive(name) and not _OWN_VALUES.search(fold(name))


def fold(name: str) -> str:
    """A name in lower case, with every separator as `_`."""
    return name.translate(_FOLDED)


def split_camel(name: str) -> str:
    """A name in lower case, its words apart whichever way they were joined."""
    return fold(_CAMEL.sub("_", name))


def _judge(name: str) -> bool:
    folded = fold(name)
    words = split_camel(name[-_LONGEST_CACHED:])
    counted = _COUNTED.search(words)
    if counted is not None:
        folded = words[: counted.start()]
    if _PHRASES.search(folded):
        return not _ABOUT.search(words) or _ADDRESS_OF.search(words) is not None
    return _LAST.search(words) is not None and not _PASSES.search(words)


_cached = lru_cache(maxsize=10_000)(_judge)
