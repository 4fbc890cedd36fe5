"""How mappings between columns hold for values inside columns (docs/adr/0023).

A dotted name is a value inside the column before the dot. Who reads a column reads what is inside
it, and a column that is copied (IDENTITY) carries along what is inside it, under the same names. An
input that stands beside values inside it sums these up: it is told, and not followed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.server.lineage.indexed_mapping import IndexedMapping
from headwater.server.lineage.nested_index import holders
from headwater.server.store.contents import Input, Output

_IDENTITY = "IDENTITY"
_CONTAINERS = ("struct", "array", "map", "record", "row", "list", "object", "json", "variant")


class Way(NamedTuple):
    """One way through a mapping, between a column that is asked for and another."""

    given: Input
    output: Output | None  # none, where it holds for the whole dataset
    field: str  # at the other end
    rest: str = ""  # what is asked for inside a column that is copied
    is_sum: bool = False  # of other ways, which are finer


def ways_up(mapping: IndexedMapping, field: str) -> list[Way]:
    """What a column comes from, by the outputs of a mapping; not by what holds for all of them."""
    nested, own = mapping.nested, mapping.outputs.get(field)
    if nested is None and own is not None:
        return [Way(given, own, given.field) for given in own.inputs]
    ways: list[Way] = []
    for output, rest in _outputs(mapping, field):
        for given in output.inputs:
            is_sum = nested is not None and nested.is_sum(given, output.field)
            if not (rest and is_sum):
                ways += _ways(given, output, given.field, rest, is_sum)
    return ways


def ways_of_all(mapping: IndexedMapping) -> list[Way]:
    """What every output of a mapping comes from."""
    nested = mapping.nested
    return [
        Way(one, None, one.field, "", nested is not None and nested.is_sum(one))
        for one in mapping.dataset
    ]


def ways_down(mapping: IndexedMapping, dataset: int, field: str) -> list[Way]:
    """What a column feeds; again not by what holds for all outputs of the mapping."""
    own = mapping.fed_by.get(dataset, {}).get(field, ())
    ways = [Way(one, output, output.field) for output, one in own]
    nested = mapping.nested
    if nested is None and "." not in field:
        return ways
    reads = mapping.fed_by if nested is None else nested.read_whole
    for holder in holders(field):
        rest = field[len(holder) + 1 :]
        for output, one in reads.get(dataset, {}).get(holder, ()):
            ways += _ways(one, output, output.field, rest)
    if nested is None:
        return ways
    fed = {output.field for output, _ in own}
    for within in nested.inputs_inside(dataset, field):
        pairs = mapping.fed_by[dataset][within]
        ways += [Way(one, output, output.field) for output, one in pairs if output.field not in fed]
    fields = {way.field for way in ways}
    held = {holder for field in fields for holder in holders(field) if holder in fields}
    return [way._replace(is_sum=not way.rest and way.field in held) for way in ways]


def deciding(mapping: IndexedMapping, dataset: int, field: str) -> list[Input]:
    """How a column takes part in every output of a mapping."""
    whole, nested = mapping.whole.get(dataset, {}), mapping.nested
    if not whole or field in whole:
        return whole.get(field, [])
    holding = [one for name in holders(field) for one in whole.get(name, ())]
    if nested is None:
        return holding
    within = [one for name in nested.deciding_inside(dataset, field) for one in whole[name]]
    return [one for one in holding if not nested.is_sum(one)] + within


def may_hold(kind: str | None) -> bool:
    """Whether a column of some type, as its producer writes it, may have values inside it."""
    return not kind or kind.casefold().startswith(_CONTAINERS)


def _outputs(mapping: IndexedMapping, field: str) -> list[tuple[Output, str]]:
    """The outputs that tell of a column: its own, else those inside it, else what holds it."""
    own = mapping.outputs.get(field)
    if own is not None:
        return [(own, "")]
    within = mapping.nested.outputs_inside(field) if mapping.nested is not None else []
    if within:
        return [(mapping.outputs[name], "") for name in within]
    holder = next((name for name in holders(field) if name in mapping.outputs), None)
    return [] if holder is None else [(mapping.outputs[holder], field[len(holder) + 1 :])]


def _ways(
    given: Input, output: Output, field: str, rest: str, is_sum: bool = False
) -> Iterator[Way]:
    """Ways between a value inside a column and another: inside that, too, if it is a copy."""
    copied = output.type == _IDENTITY or any(step[1] == _IDENTITY for step in given.steps)
    if rest and copied:
        yield Way(given, output, field, rest)
    if not rest or not copied or any(step[1] != _IDENTITY for step in given.steps):
        yield Way(given, output, field, "", is_sum)
