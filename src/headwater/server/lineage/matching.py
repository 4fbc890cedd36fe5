"""Names that hold a text, or nearly: by an index of trigrams in either store.

SQLite has one built in (FTS5); in PostgreSQL it is an index over an array of them, which
needs no extension. Of a text only a few trigrams are looked up, each once; the names that have
them are compared with the text (`text_search`). What is found is ranked here, by the names alone.
Misspelt names are found by the index of words (`spelling`).
"""

from collections.abc import Callable
from typing import NamedTuple

from headwater.server.lineage.scope import Clause, Scope
from headwater.server.lineage.text_search import having_text
from headwater.server.lineage.view import StoreView

JOBS, DATASETS, FIELDS = "J", "D", "F"
_LOOKED = 2000  # names of which the best are chosen
_OWN: dict[str, Callable[[Scope], Clause]] = {
    JOBS: lambda scope: scope.has_job("target"),
    DATASETS: lambda scope: scope.has_name("target"),
    FIELDS: lambda scope: scope.has_field("target"),
}


class Match(NamedTuple):
    """A name that fits; the least rank is the best."""

    rank: tuple[int, float, int, str]
    target: int
    name: str


def matches(view: StoreView, kind: str, text: str, most: int) -> list[Match]:
    """The names of a kind that hold a text, best first."""
    text = text.lower()
    found = [_ranked(text, target, name) for target, name in _holding(view, kind, text)]
    return sorted(found)[:most]


def near_matches(view: StoreView, kind: str, text: str, most: int) -> list[Match]:
    """The names of a kind that are spelt nearly like a text, best first."""
    return [
        Match((4, near.distance, len(near.name), near.name), near.target, near.name)
        for near in view.contents.spelling.near(view.session, kind, text, most, view.scope)
    ]


def ending(view: StoreView, kind: str, text: str) -> list[tuple[int, str]]:
    """The names of a kind whose last part is a text: `orders` in `default/orders`."""
    tails = (f"/{text}".lower(), f".{text}".lower())
    found = dict(pair for tail in tails for pair in _holding(view, kind, tail))
    return [(target, name) for target, name in found.items() if name.lower().endswith(tails)]


def _ranked(text: str, target: int, name: str) -> Match:
    return Match((closeness(text, name), 0.0, len(name), name), target, name)


def closeness(text: str, name: str) -> int:
    """0 where the name is the text, 1 where it begins with it, 2 where a word does, else 3."""
    name = name.lower()
    if name == text:
        return 0
    if name.startswith(text):
        return 1
    place = name.find(text)
    return 3 if place < 0 or name[place - 1].isalnum() else 2


def _holding(view: StoreView, kind: str, text: str) -> list[tuple[int, str]]:
    own, params = _OWN[kind](view.scope)
    where, wanted = having_text(view.session.dialect, text)
    rows = view.session.all(
        f"SELECT target, text FROM search WHERE {where} AND kind = ?{own} LIMIT ?",
        *wanted, kind, *params, _LOOKED,
    )  # fmt: skip
    return [(int(target), name) for target, name in rows]
