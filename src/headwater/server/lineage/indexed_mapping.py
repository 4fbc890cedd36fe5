"""Column mappings in a form that can be followed both ways, and that takes little memory.

A large graph needs thousands of them at a time, and most of their texts and transformations repeat.
"""

from functools import lru_cache
from sys import intern

from headwater.openlineage.facets import WHOLE
from headwater.server.lineage.nested_index import Fed, NestedIndex, is_dotted
from headwater.server.store.contents import Input, Mapping, Output, Step

_OUTPUT, _INPUT, _NESTED = 260, 210, 400  # bytes in memory, about, with what they are found by
_MAPPING = 1500


class IndexedMapping:
    """A column mapping that can be followed both ways."""

    __slots__ = ("dataset", "fed_by", "inputs", "nested", "outputs", "size", "sources", "whole")

    def __init__(self, mapping: Mapping) -> None:
        outputs = [_merged(output) for output in mapping.outputs]
        # The datasets that feed it as a whole; none where nothing is told of that.
        self.sources = _sources(outputs)
        if self.sources is not None:
            outputs = [_of_fields(output) for output in outputs if output.field != WHOLE]
        self.outputs = {output.field: output for output in outputs}
        self.dataset = _merge(mapping.dataset)
        # Input dataset → field → the outputs that it feeds, and how.
        self.fed_by: Fed = {}
        for output in outputs:
            for given in output.inputs:
                fed = self.fed_by.setdefault(given.dataset, {})
                if given.field in fed:
                    fed[given.field].append((output, given))
                else:
                    fed[given.field] = [(output, given)]
        # Input dataset → field → how it decides over every output field.
        self.whole: dict[int, dict[str, list[Input]]] = {}
        for given in self.dataset:
            self.whole.setdefault(given.dataset, {}).setdefault(given.field, []).append(given)
        names = [{*self.outputs}, *map(set, self.fed_by.values()), *map(set, self.whole.values())]
        distinct = set[str]().union(*names)
        dotted = is_dotted(distinct)
        # What is inside what, where any name has a dot.
        self.nested = NestedIndex(self.outputs, self.fed_by, self.dataset) if dotted else None
        count = sum(len(output.inputs) for output in outputs) + len(self.dataset)
        each = _INPUT + _NESTED * dotted
        self.size = _MAPPING + _OUTPUT * len(outputs) + each * count + sum(map(len, distinct))
        self.inputs = self.fed_by.keys() | self.whole.keys() | (self.sources or set())

    def between(self, dataset: int, field: str, output: str) -> list[Input]:
        """Every way from a field of an input to a field of the output."""
        fed = self.fed_by.get(dataset, {}).get(field, ())
        direct = [given for fed_output, given in fed if fed_output.field == output]
        return direct + self.whole.get(dataset, {}).get(field, [])


def _sources(outputs: list[Output]) -> set[int] | None:
    given = [one for output in outputs for one in output.inputs if one.field == WHOLE]
    is_told = bool(given) or any(output.field == WHOLE for output in outputs)
    return {one.dataset for one in given} if is_told else None


def _of_fields(output: Output) -> Output:
    return output._replace(inputs=[given for given in output.inputs if given.field != WHOLE])


def _merged(output: Output) -> Output:
    field, description, kind, inputs = output
    return Output(intern(field), description, kind, _merge(inputs))


def _merge(inputs: list[Input]) -> list[Input]:
    """Inputs, each field once with all its steps; once more where it is also given without."""
    steps: dict[tuple[int, str, bool], dict[Step, None]] = {}
    for dataset, field, told in inputs:
        known = steps.setdefault((dataset, field, not told), {})
        for step in told:
            known[step] = None
    return [
        Input(dataset, intern(field), _shared(tuple(told)))
        for (dataset, field, _), told in steps.items()
    ]


@lru_cache(1024)
def _shared(steps: tuple[Step, ...]) -> list[Step]:
    """Steps as one list for all columns that take the same: most take one of a few."""
    return [*steps]
