"""Reads events. What they say of datasets they mostly said before, and it is not read again."""

from collections.abc import Callable

from msgspec import Raw
from xxhash import xxh3_128_digest

from headwater.openlineage.checks import Checker
from headwater.openlineage.events import Body, Event, EventDataset, decode, make_event, read_parts
from headwater.openlineage.sizes import MOST_BYTES, check_size

_ROOM = 24 * 2**20  # bytes of datasets that are remembered
_PART = 512  # bytes that a dataset takes beside its text
_ENOUGH = 48  # bytes by which a part is mostly found
_Key = tuple[str, bytes]


class EventReader:
    """Reads and checks events.

    `scrub` takes secrets out of an event; beside it, it is given the part of the event that was
    not looked through before.
    """

    def __init__(
        self, scrub: Callable[[bytes, bytes, int | None], bytes], most: int = MOST_BYTES
    ) -> None:
        self._scrub, self._most = scrub, most
        self._checker = Checker()
        # Two generations: what is used moves to the young one, and the old one goes at once.
        self._young: dict[_Key, list[EventDataset]] = {}
        self._old: dict[_Key, list[EventDataset]] = {}
        self._room = _ROOM // 2

    def read(self, raw: bytes, searched: int | None = None, *, is_clean: bool = False) -> Event:
        """Read and check one event, without the secrets in it; one that is clean has none.

        Raises: EventRejected, naming the field and the reason; nothing is half accepted.
            TakesLong, when more than `searched` bytes would have to be searched for secrets.
        """
        check_size(raw, self._most)
        body = decode(raw)
        keys, rest = _keys(body), raw
        for key, side in ((keys["inputs"], body.inputs), (keys["outputs"], body.outputs)):
            if key in self._young or key in self._old:
                rest = _without(rest, bytes(side))
        clean = raw if is_clean else self._scrub(raw, rest, searched)
        if clean is not raw:
            body = decode(clean)
            keys = _keys(body)
        event = make_event(clean, body, lambda side, where: self._parts(side, keys[where]))
        self._checker.check(event)
        return event

    def _parts(self, side: Raw, key: _Key) -> list[EventDataset]:
        known = self._young.get(key)
        if known is not None:
            return known
        known = self._old.get(key)
        if known is None:
            known = read_parts(side.copy(), key[0])
            for part in known:
                self._checker.check_part(part)
        self._room -= len(memoryview(side)) + _PART * len(known)
        if self._room < 0:
            self._old, self._young, self._room = self._young, {}, _ROOM // 2
        self._young[key] = known
        return known


def _keys(body: Body) -> dict[str, _Key]:
    """By what the two sides of an event are remembered: where they stand, and what they say."""
    sides = (("inputs", body.inputs), ("outputs", body.outputs))
    return {where: (where, xxh3_128_digest(side)) for where, side in sides}


def _without(text: bytes, part: bytes) -> bytes:
    """A text without a part of it; to search for all of a long one takes ten times as long."""
    begin = part[:_ENOUGH]
    place = text.find(begin)
    while place >= 0:
        if text.startswith(part, place):
            return text[:place] + text[place + len(part) :]
        place = text.find(begin, place + 1)
    return text
