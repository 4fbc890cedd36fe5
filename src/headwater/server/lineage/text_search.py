"""The conditions by which names that have a text in them are found, at a cost that is bounded.

SQLite looks up a phrase of trigrams by comparing every place of each of them: a text and a name of
a thousand equal letters take a million steps, for each name. `LIKE` goes back in the same way. Here
only a short text is a phrase. For others, the index gives the names that have a few trigrams of the
text, at whatever place, and these are compared with the text by a search for a substring.
"""

from typing import Any

_LENGTH = 3  # characters of a trigram
_MOST = 12  # trigrams of a text that are looked up

Condition = tuple[str, list[Any]]


def has_text(dialect: str, column: str, text: str) -> Condition:
    """The condition that a name has a text in it, whatever the case of its letters."""
    if dialect != "sqlite":
        return f"strpos(lower({column}), ?) > 0", [text.lower()]
    if text.isascii():
        return f"instr(lower({column}), ?) > 0", [text.lower()]
    return f"instr(casefold({column}), ?) > 0", [text.casefold()]


def having_text(dialect: str, text: str) -> Condition:
    """The condition of a row of `search`, by the index unless the text is too short for it."""
    text = text.lower()
    condition, params = has_text(dialect, "text", text)
    looked_up = trigrams(text)
    if not looked_up:
        return condition, params
    if dialect == "sqlite":
        if text.isascii() and len(text) < _MOST + _LENGTH:  # a phrase, of few trigrams
            return "search MATCH ?", [_quoted(text)]
        phrases = " ".join(map(_quoted, looked_up))
        return f"search MATCH ? AND {condition}", [phrases, *params]
    return f"headwater_grams(lower(text)) @> ?::text[] AND {condition}", [looked_up, *params]


def trigrams(text: str) -> list[str]:
    """Some of the trigrams of a text, each once: the first, the last, and others between them."""
    all_of_them = [*dict.fromkeys(text[i : i + _LENGTH] for i in range(len(text) - _LENGTH + 1))]
    last = len(all_of_them) - 1
    if last < _MOST:
        return all_of_them
    return [all_of_them[last * i // (_MOST - 1)] for i in range(_MOST)]


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', '""') + '"'
