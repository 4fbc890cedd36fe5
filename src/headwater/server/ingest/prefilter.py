"""Tells from the bytes of an event that it holds nothing to mask, so that most are not decoded.

The filter only ever errs by letting an event through to masking: whatever masking would change
has one of these words in its bytes. They are the words of the masking rules themselves.
"""

import re
from itertools import chain

from ahocorasick_rs import BytesAhoCorasick, Implementation

from headwater.openlineage.masking import hints, keys, tokens

_WORDS = [
    word.encode()
    for word in dict.fromkeys(
        chain(hints.PHRASES, hints.ANYWHERE, keys.LAST_WORDS, hints.BEFORE_SPACE,
              (hint.lower() for hint in tokens.EXACT_HINTS), ["\\u00"])
    )
]  # fmt: skip
_LAST = {word.encode() for word in keys.LAST_WORDS}
_SPACED = {word.encode() for word in hints.BEFORE_SPACE}
_EXACT = {hint.lower().encode(): hint.encode() for hint in tokens.EXACT_HINTS}
# All words in one pass: 40 µs for an event of 30 KB, where `re` takes 600.
_words = BytesAhoCorasick(_WORDS, implementation=Implementation.DFA)
_URL = re.compile(rb":(?:\\?/){2}[^\s\"@]*+(@?)")
_LONGEST = max(map(len, _WORDS))
_PART = 2**16  # bytes that are searched at once: every match in them is a tuple
_LOWER = frozenset(range(ord("a"), ord("z") + 1))
_SPACES = frozenset(b' \\%"')  # or the end of an argument in a list


def may_hold_secrets(raw: bytes) -> bool:
    """Whether masking might change an event, by a look over its bytes."""
    for at in range(0, len(raw), _PART):
        part = raw[at : at + _PART + _LONGEST].lower()
        for index, start, end in _words.find_matches_as_indexes(part, overlapping=True):
            if _counts(_WORDS[index], raw, at + start, at + end):
                return True
    return b"@" in raw and any(found[1] for found in _URL.finditer(raw))


def _counts(word: bytes, raw: bytes, start: int, end: int) -> bool:
    following = raw[end] if end < len(raw) else 0
    if word in _EXACT:
        return raw[start:end] == _EXACT[word]
    if word in _LAST:
        return following not in _LOWER
    if word in _SPACED:
        return following in _SPACES
    return True
