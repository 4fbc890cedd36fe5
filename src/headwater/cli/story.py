"""How the story of a row reads in a terminal."""

from typing import TYPE_CHECKING, Any

from rich.text import Text

from headwater.cli.output import json_text, moment_text, state_text, write_line

if TYPE_CHECKING:
    from headwater.trace.shapes import Formula, Record, Records, RowStory, Story

_SHOWN = 20  # records, rows or runs of one kind; --json has all


def write_story(story: "Story") -> None:
    """Write where rows came from, from the row up to the records."""
    for number, row in enumerate(story.rows):
        if number:
            write_line(Text())
        _write_row(story.table, row)
    if story.formulas:
        write_line(Text())
        _head("columns")
        for formula in story.formulas:
            _write_formula(formula)


def _write_row(table: str, row: "RowStory") -> None:
    _head(f"row of {table}")
    width = max(map(len, row.values), default=0)
    for name, value in row.values.items():
        _line(1, f"{name:<{width}}  {_value(value)}")
    _write_snapshot(row)
    for number, write in enumerate(row.writes[:_SHOWN]):
        _write_write(write, 1 if number == 0 else 2)
    _more(2, len(row.writes) - _SHOWN, "runs")
    if row.records is not None:
        _write_records(row.records)


def _write_snapshot(row: "RowStory") -> None:
    reason = f": {row.reason}" if row.reason else ""
    made = row.snapshot
    if made is None:
        _line(0, f"written by an unknown snapshot{reason}")
        return
    label = _label(exact=row.exact)
    at = f", {moment_text(made.at)} UTC" if made.at else ""
    batch = f", micro-batch {made.batch} of query {made.query_id}" if made.query_id else ""
    words = f"written by snapshot {made.id}{at}{f', {made.operation}' if made.operation else ''}"
    _line(0, Text.assemble(words, batch, "  ", label, reason))


def _write_write(write: dict[str, Any], depth: int) -> None:
    batch = f", micro-batch {write['batch']}" if write.get("batch") is not None else ""
    line = Text(f"{write['name']}, run {write['runId']}{batch}  ")
    line.append_text(state_text(write.get("state")))
    if depth > 1:
        line = Text.assemble(f"{write['output']['name']} was written by ", line)
    _line(depth, line)
    for topic, partitions in (write.get("offsets") or {}).items():
        for number, span in sorted(partitions.items(), key=lambda one: int(one[0])):
            _line(depth + 1, Text.assemble(
                f"read {topic}/{number}@{_span(span)}  ",
                _label(exact=write["exact"]), f": {write['reason']}" if write["reason"] else "",
            ))  # fmt: skip
    for one in write.get("inputs") or ():
        if not (one["namespace"].startswith("kafka:") and one["name"] in write.get("offsets", ())):
            at = f" at snapshot {one['snapshot']}" if one.get("snapshot") else ""
            _line(depth + 1, f"read {one['name']}{at}")


def _write_records(found: "Records") -> None:
    label = _label(exact=found.exact, complete=found.complete)
    _line(0, Text.assemble("records  ", label, f": {found.reason}"))
    for record in found.records[:_SHOWN]:
        _write_record(record, 1)
    _more(1, len(found.records) - _SHOWN, "records")
    for row in found.rows[:_SHOWN]:
        _line(1, f"{found.table}  {json_text(row.values)}")
        for record in row.records:
            _write_record(record, 2)
    _more(1, len(found.rows) - _SHOWN, f"rows of {found.table}")


def _write_record(record: "Record", depth: int) -> None:
    message = "" if record.message is None else f"  {json_text(record.message)}"
    _line(depth, f"{record.topic}/{record.partition}@{record.offset}{message}")


def _write_formula(formula: "Formula") -> None:
    inputs = ", ".join(formula.inputs)
    if formula.formula:
        _line(1, f"{formula.column} = {formula.formula}  from {inputs}")
    else:
        _line(1, f"{formula.column} {'=' if formula.direct else 'depends on'} {inputs}")


def _span(span: dict[str, Any]) -> str:
    start, end = span.get("from") or 0, span.get("to")
    return f"{start}-" if end is None else f"{start}-{end - 1}" if end > start else "nothing"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _label(*, exact: bool, complete: bool = True) -> Text:
    if exact:
        return Text("exact", style="green")
    return Text("superset" if complete else "incomplete", style="yellow")


def _more(depth: int, count: int, what: str) -> None:
    if count > 0:
        _line(depth, f"and {count} more {what}")


def _head(text: str) -> None:
    write_line(Text(text, style="bold"))


def _line(depth: int, text: "str | Text") -> None:
    write_line(Text.assemble("  " * depth, text))
