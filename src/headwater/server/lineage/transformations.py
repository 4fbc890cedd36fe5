"""What happened to a column on its way, in the words of answers."""

from typing import Any

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


def told_steps(given: Input) -> list[dict[str, Any]]:
    """Every step of an input as OpenLineage writes it."""
    return [
        {"type": kind, "subtype": subtype, "description": text or "", "masking": bool(masking)}
        for kind, subtype, text, masking in given.steps
    ]
