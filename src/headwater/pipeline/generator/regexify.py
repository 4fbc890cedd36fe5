"""Texts that match a regular expression: groups, choices, classes and repetition."""

import string
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.pipeline.generator.draw import Draw

_CLASSES = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": " "}
_MOST = 8  # repetitions of + and *, which have no upper bound

Maker = Callable[[Draw], Column]


def regexify(pattern: str) -> Maker:
    """What makes a text for a pattern out of a draw.

    Raises:
        ValueError: the pattern is not understood.

    """
    maker, rest = _choice(pattern)
    if rest:
        raise ValueError(f"{rest!r} is not supported in the pattern {pattern!r}")
    return maker


def _choice(text: str) -> tuple[Maker, str]:
    maker, rest = _sequence(text)
    makers = [maker]
    while rest.startswith("|"):
        maker, rest = _sequence(rest[1:])
        makers.append(maker)
    return (makers[0] if len(makers) == 1 else _one_of(makers)), rest


def _sequence(text: str) -> tuple[Maker, str]:
    makers: list[Maker] = []
    while text and text[0] not in "|)":
        maker, text = _atom(text)
        low, high, text = _repetition(text)
        makers.append(maker if (low, high) == (1, 1) else _repeat(maker, low, high))
    return _joined(makers), text


def _atom(text: str) -> tuple[Maker, str]:
    head, rest = text[0], text[1:]
    if head == "(":
        maker, rest = _choice(rest.removeprefix("?:"))
        if not rest.startswith(")"):
            raise ValueError("a group is not closed")
        return maker, rest[1:]
    if head == "[":
        inside, closed, rest = rest.partition("]")
        if not closed or not inside or inside.startswith("^"):
            raise ValueError(f"the class [{inside}] is not supported")
        return _of(_members(inside)), rest
    if head == "\\" and rest:
        return _of(_CLASSES.get(rest[0], rest[0])), rest[1:]
    return _of(string.ascii_letters if head == "." else head), rest


def _members(inside: str) -> str:
    found, at = "", 0
    while at < len(inside):
        if inside[at] == "\\":
            found += _CLASSES.get(inside[at + 1 : at + 2], inside[at + 1 : at + 2])
            at += 2
        elif inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            found += "".join(chr(code) for code in range(ord(inside[at]), ord(inside[at + 2]) + 1))
            at += 3
        else:
            found += inside[at]
            at += 1
    return found


def _repetition(text: str) -> tuple[int, int, str]:
    simple = {"?": (0, 1), "*": (0, _MOST), "+": (1, _MOST)}
    if text[:1] in simple:
        return *simple[text[0]], text[1:]
    if not text.startswith("{"):
        return 1, 1, text
    low, comma, high = text[1 : text.index("}")].partition(",")
    least = int(low)
    most = (int(high) if high else least + _MOST) if comma else least
    return least, most, text[text.index("}") + 1 :]


def _of(characters: str) -> Maker:
    return lambda draw: draw.one_of(list(characters))


def _one_of(makers: list[Maker]) -> Maker:
    def make(draw: Draw) -> Column:
        texts = F.array(*(maker(draw.other(at)) for at, maker in enumerate(makers)))
        return F.element_at(texts, draw.whole(1, len(makers)).cast("int"))

    return make


def _repeat(maker: Maker, low: int, high: int) -> Maker:
    def make(draw: Draw) -> Column:
        times = draw.whole(low, high)
        copies = (maker(draw.other(at)) for at in range(high))
        return F.concat(
            F.lit(""),
            *(F.when(times > at, copy).otherwise(F.lit("")) for at, copy in enumerate(copies)),
        )

    return make


def _joined(makers: list[Maker]) -> Maker:
    if len(makers) == 1:
        return makers[0]
    return lambda draw: F.concat(
        F.lit(""), *(maker(draw.other(at)) for at, maker in enumerate(makers))
    )
