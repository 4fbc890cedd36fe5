"""What happened to a column on its way, in the words of answers."""

from collections.abc import Iterable

from headwater.api.graph import Transformation
from headwater.server.store.contents import Input, Output


def told_type(output: Output, given: Input) -> tuple[str | None, str | None]:
    """Description and type of the step from an input to an output, the older form first."""
    if output.type is not None or output.description is not None:
        return output.description, output.type
    return step_type(given)


def step_type(given: Input) -> tuple[str | None, str | None]:
    """Description and type of a step by its `transformations`; a direct one speaks first."""
    if not given.steps:
        return None, None
    kind, subtype, text, _ = min(given.steps, key=lambda step: step[0] != "DIRECT")
    return text or None, subtype or kind


def told_steps(inputs: Iterable[Input]) -> list[Transformation]:
    """Every step of some inputs as OpenLineage writes it, once."""
    steps = dict.fromkeys(
        (kind, subtype, text or "", bool(masking))
        for given in inputs
        for kind, subtype, text, masking in given.steps
    )
    return [Transformation(*step) for step in steps]
