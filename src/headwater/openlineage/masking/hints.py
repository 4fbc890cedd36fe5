"""Words of which one is in every text or event that masking changes."""

import re
from functools import cache
from itertools import chain, product

from headwater.openlineage.masking import keys, tokens
from headwater.openlineage.masking.alternatives import join_words
from headwater.openlineage.masking.blocks import BLOCK_HINTS

# JSON may write a slash with a backslash before it.
_SEPARATORS = ("", *keys.SEPARATORS, "\\/")
# Each phrase with every separator that may stand between its words.
PHRASES = {
    "".join(chain.from_iterable(zip(phrase, (*between, ""), strict=True)))
    for phrase in keys.PHRASES
    for between in product(_SEPARATORS, repeat=len(phrase) - 1)
}
# Words that say nothing unless a space follows, which JSON may write with a backslash.
BEFORE_SPACE = ("bearer", "basic", "mysql", "mysqldump", "mysqladmin", "mariadb", "curl",
                "sqlplus", "login", "sqlcmd", "bcp", "mongo", "mongosh", "mongodump",
                "mongorestore", "beeline", "redis-cli", "docker", "podman", "helm", "cqlsh",
                "keytool", "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete")  # fmt: skip
ANYWHERE = (
    "sshpass", "identified", "_encrypt", "_decrypt", "cryptbypassphrase", *BLOCK_HINTS, "sig=",
    "sig%3d", "signature=", "signature%3d", "googleaccessid", "key-pair-id=", "%40", "%2540",
    "jdbc:oracle:", "@tcp(", "@unix(",
)  # fmt: skip
_PART = 2**16  # letters that are searched at once, so that other threads have their turn
_LONGEST = 64  # letters of the longest word


@cache
def _any_word() -> re.Pattern[str]:
    """One pattern of all words; it takes 6 ms to compile, and is needed for long texts only."""
    words = {*PHRASES, *ANYWHERE, *keys.LAST_WORDS, *BEFORE_SPACE}
    words |= {hint.lower() for hint in tokens.EXACT_HINTS}
    return re.compile(join_words(words))


def has_hint(text: str) -> bool:
    """Whether masking might change a text; it may say so of a text without a secret."""
    if "://" in text and "@" in text:
        return True
    places = range(0, len(text), _PART)
    search = _any_word().search
    return any(search(text[at : at + _PART + _LONGEST].lower()) for at in places)
