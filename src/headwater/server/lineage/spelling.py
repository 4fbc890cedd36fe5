"""Names that are spelt nearly like a text: an index of the words in names, kept in memory.

The words of a text are compared with the words of all names by their edit distance. The index
is read from the store when it is first needed; afterwards only new names are read.
"""

import re
from threading import Lock
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from headwater.server.lineage.scope import Scope
from headwater.server.store.database import Session

_WORD = re.compile(r"[^\W_]+")
_SHORT = 4  # letters; a shorter word has too many neighbours
_LONG = 6  # letters, from which on two slips are forgiven
_LONGEST = 40  # letters; longer words are hashes
_MOST_WORDS = 16  # of a text; each is compared with many
_CORRECTIONS = 8  # words that one word may stand for
_SCANNED = 2000  # names of which the best are chosen
_NONE = 1000  # the distance of a word that is not there
_MOST = 200_000  # names of a kind in the index: the newest
_MOST_OWN = 10_000  # of which an index is made for one question
_TABLES = {"J": "job", "D": "dataset", "F": "field_name"}


class Near(NamedTuple):
    """A name that is spelt nearly like a text."""

    distance: int
    target: int
    name: str


class Spelling:
    """The names of jobs, datasets and columns of one store, by their words; for any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._indexes = {kind: _Index() for kind in _TABLES}

    def near(
        self, session: Session, kind: str, text: str, most: int, scope: Scope
    ) -> list[Near]:  # fmt: skip
        """The names of a kind with words near those of a text, the nearest and shortest first."""
        if scope.is_limited:
            return _own_index(session, kind, scope).near(text.lower(), most)
        index = self._indexes[kind]
        with self._lock:
            rows = session.all(
                f"SELECT id, name FROM {_TABLES[kind]} WHERE id > ? ORDER BY id DESC LIMIT ?",
                index.last, _MOST,
            )  # fmt: skip
            for target, name in reversed(rows):
                index.add(int(target), name)
            return index.near(text.lower(), most)


def _own_index(session: Session, kind: str, scope: Scope) -> "_Index":
    """An index of the names of some namespaces alone: those of others must not crowd them out."""
    has_own = {"J": scope.has_job, "D": scope.has_name, "F": scope.has_field}[kind]
    own, params = has_own("id")
    rows = session.all(
        f"SELECT id, name FROM {_TABLES[kind]} WHERE 1 = 1{own} ORDER BY id DESC LIMIT ?",
        *params, _MOST_OWN,
    )  # fmt: skip
    index = _Index()
    for target, name in reversed(rows):
        index.add(int(target), name)
    return index


class _Index:
    def __init__(self) -> None:
        self.last = 0
        self._names: dict[int, str] = {}
        self._targets: dict[str, list[int]] = {}
        self._sorted: dict[str, int] = {}  # how many targets were there when they were sorted
        # Words by length and first letter, and by length and last letter: a slip rarely changes
        # both, and a word is compared with a tenth of all words.
        self._words: dict[tuple[int, str], list[str]] = {}

    def add(self, target: int, name: str) -> None:
        self.last = target
        self._names[target] = name
        for word in set(_WORD.findall(name.lower())):
            if word in self._targets:
                self._targets[word].append(target)
            elif len(word) <= _LONGEST:
                self._targets[word] = [target]
                for edge in {f"{word[0]}…", f"…{word[-1]}"}:
                    self._words.setdefault((len(word), edge), []).append(word)

    def near(self, text: str, most: int) -> list[Near]:
        words = _WORD.findall(text)
        if len(words) > _MOST_WORDS:
            return []
        corrections = []
        for word in words:
            near = self._corrections(word)
            if near is not None:
                if not near:
                    return []
                corrections.append(near)
        if not corrections:
            return []
        short = [word for word in words if len(word) < _SHORT]
        first = min(corrections, key=lambda found: sum(len(self._targets[w]) for w in found))
        others = [found for found in corrections if found is not first]
        names: dict[int, Near] = {}
        for word, distance in first.items():
            for target in self._shortest_first(word)[:_SCANNED]:
                name = self._names[target]
                lower = name.lower()
                rest = [_least(other, lower) for other in others]
                if _NONE in rest or not all(part in lower for part in short):
                    continue
                found = Near(distance + sum(rest), target, name)
                names[target] = min(found, names.get(target, found))
                if len(names) >= most and not others and not short:
                    break
        return sorted(names.values(), key=lambda n: (n.distance, len(n.name), n.name))[:most]

    def _corrections(self, word: str) -> dict[str, int] | None:
        """Known words near a word, with their distance; None for a word that is too short."""
        if len(word) < _SHORT:
            return None
        if word in self._targets or word.isdigit():
            return {word: 0} if word in self._targets else {}
        slips = 1 if len(word) < _LONG else 2
        found: dict[str, int] = {}
        for length in range(len(word) - slips, len(word) + slips + 1):
            for edge in (f"{word[0]}…", f"…{word[-1]}"):
                words = self._words.get((length, edge), ())
                best = process.extract(
                    word, words, scorer=OSA.distance, score_cutoff=slips, limit=_CORRECTIONS
                )
                found.update({near: int(distance) for near, distance, _ in best})
        nearest = sorted(found, key=lambda near: (found[near], near))[:_CORRECTIONS]
        return {near: found[near] for near in nearest}

    def _shortest_first(self, word: str) -> list[int]:
        targets = self._targets[word]
        if self._sorted.get(word) != len(targets):
            targets.sort(key=lambda target: len(self._names[target]))
            self._sorted[word] = len(targets)
        return targets


def _least(corrections: dict[str, int], name: str) -> int:
    """The distance of the nearest correction that a name holds."""
    return min((distance for word, distance in corrections.items() if word in name), default=_NONE)
