"""The latest entries of the feed in memory: bounded, in order, without gaps."""

import random

from headwater.server.live.items import Item
from headwater.server.live.window import Window

_MOST = 100_000


def test_a_window_holds_a_bounded_number_of_bytes_without_gaps() -> None:
    choice = random.Random(7)
    window = Window(_MOST)
    window.reset(10)
    number = 10
    for _ in range(300):
        page = []
        for _ in range(choice.randrange(1, 9)):
            number += choice.choice((1, 1, 5))  # what is lost has a number for all of it
            size = choice.choice((10, 1000, 30_000, 120_000))
            page.append(Item(number, "run", frozenset({"n" * choice.randrange(9)}), b"x" * size))
        window.add(page)
        assert window.size <= _MOST
        held = window.after(window.start, 10_000)
        assert window.size == sum(item.size for item in held)
        assert window.end == number
        kept = [item for item in page if item.number > window.start]
        assert held[len(held) - len(kept) :] == kept
        if held:
            middle = choice.choice(held).number
            assert window.after(middle, 3) == [item for item in held if item.number > middle][:3]
    window.reset(number)
    assert (window.size, window.after(number, 10)) == (0, [])
