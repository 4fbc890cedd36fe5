"""What is known of the dotted names of one column mapping, so that each is found at once."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from headwater.server.store.contents import Input, Output

_LEVELS = 32  # of values inside values; a name with more dots is a plain name
Fed = dict[int, dict[str, list[tuple[Output, Input]]]]  # dataset, field: what it feeds, and how
_Key = tuple[int, str, bool]


class NestedIndex:
    """The names inside others among those of a mapping, and the inputs that sum up finer ones."""

    __slots__ = ("_deciding", "_inputs", "_outputs", "_sums", "read_whole")

    def __init__(self, outputs: Mapping[str, Output], fed_by: Fed, dataset: list[Input]) -> None:
        self._outputs = sorted(outputs)
        self._inputs = {number: sorted(fed) for number, fed in fed_by.items()}
        of_datasets: dict[int, set[str]] = {}
        for one in dataset:
            of_datasets.setdefault(one.dataset, set()).add(one.field)
        self._deciding = {number: sorted(fields) for number, fields in of_datasets.items()}
        self._sums = {name: found for name, o in outputs.items() if (found := _sums(o.inputs))}
        of_all = _sums(dataset)
        if of_all:
            self._sums[""] = of_all
        # As `fed_by`, for those who depend on the whole field.
        self.read_whole: Fed = {
            number: {
                field: [(o, one) for o, one in pairs if not self.is_sum(one, o.field)]
                for field, pairs in fed.items()
            }
            for number, fed in fed_by.items()
        }

    def outputs_inside(self, field: str) -> list[str]:
        """The outputs that are values inside a column."""
        return _inside(self._outputs, field)

    def inputs_inside(self, dataset: int, field: str) -> list[str]:
        """The fields of an input that are values inside a column."""
        return _inside(self._inputs.get(dataset, []), field)

    def deciding_inside(self, dataset: int, field: str) -> list[str]:
        """The fields that take part in every output, and are values inside a column."""
        return _inside(self._deciding.get(dataset, []), field)

    def is_sum(self, given: Input, output: str = "") -> bool:
        """Whether an input of an output, or of all of them, sums up finer ones."""
        return _key(given) in self._sums.get(output, ())


def is_dotted(names: Iterable[str]) -> bool:
    """Whether any name may be that of a value inside a column."""
    return any("." in name for name in names)


def holders(field: str) -> Iterator[str]:
    """The names of all that hold a value, the nearest first."""
    if field.count(".") > _LEVELS:
        return
    while field := field.rpartition(".")[0]:
        yield field


def _inside(names: list[str], field: str) -> list[str]:
    """The names that begin with a field and a dot; `/` is the character after the dot."""
    return names[bisect_left(names, f"{field}.") : bisect_left(names, f"{field}/")]


def _sums(inputs: list[Input]) -> set[_Key]:
    """The inputs of which values inside them take part in all the ways in which they do."""
    named = {(one.dataset, one.field) for one in inputs}
    finer: dict[tuple[int, str], set[str]] = {}
    for one in inputs:
        for holder in holders(one.field):
            if (one.dataset, holder) in named:
                finer.setdefault((one.dataset, holder), set()).update(_kinds(one))
    if not finer:
        return set()
    empty: set[str] = set()
    return {
        _key(one) for one in inputs if _kinds(one) <= finer.get((one.dataset, one.field), empty)
    }


def _key(given: Input) -> _Key:
    return given.dataset, given.field, not given.steps


def _kinds(given: Input) -> set[str]:
    return {step[0] or "DIRECT" for step in given.steps} or {"DIRECT"}
