"""Events hold values that Python cannot: every command that reads them still answers."""

import json
from pathlib import Path

import pytest

from cli.lab import Lab, dataset, event, running_lab

_ODD = {
    "a huge number": "1e999",
    "a huge negative number": "-1e999",
    "a long number": "123456789" * 60,
    "a number beyond 64 bits": "18446744073709551617",
    "deep nesting": "[" * 300 + "]" * 300,
}
_COMMANDS = (
    ["runs"], ["runs", "--json"], ["events"], ["events", "--json"], ["lineage", "odd"],
    ["lineage", "odd", "--json"], ["lineage", "into", "--columns"], ["origin", "into"],
    ["impact", "from"], ["search", "odd"], ["diff", "--from", "2d"],
)  # fmt: skip


@pytest.mark.parametrize("value", _ODD.values(), ids=_ODD)
def test_every_command_reads_odd_values(tmp_path: Path, value: str) -> None:
    extra = {"_producer": "https://p", "_schemaURL": "https://s", "odd": "HERE"}
    read, written = dataset("odd", "from"), dataset("odd", "into")
    told = event("COMPLETE", "10:00", 1, "odd", inputs=[read], outputs=[written])
    for holder in (told["run"], told["job"], *told["inputs"], *told["outputs"]):
        holder.setdefault("facets", {})["odd"] = extra
    told["outputs"][0]["outputFacets"] = {"odd": extra}
    with running_lab(tmp_path) as lab:
        lab.tell_raw(json.dumps(told).replace('"HERE"', value))
        done = {" ".join(words): lab.ask(*words) for words in _COMMANDS}
        assert {words: one.stderr for words, one in done.items() if one.returncode} == {}
        assert _exported(lab, tmp_path) == 1


def _exported(lab: Lab, folder: Path) -> int:
    file = folder / "events.ndjson"
    assert lab.ask("export", str(file)).returncode == 0
    return file.read_bytes().count(b"\n")
