"""Events out of one server and into another."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard

from cli.lab import Lab, pipeline, running_lab


def _events(lab: Lab) -> list[Any]:
    found = httpx.get(f"{lab.url}/api/v1/events/lineage", params={"kind": "all", "limit": 5000})
    return sorted(json.dumps(event, sort_keys=True) for event in found.json()["events"])


@pytest.mark.parametrize("name", ["events.ndjson.zst", "events.ndjson"])
def test_an_export_can_be_imported_elsewhere(lab: Lab, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    done = lab.ask("export", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert path.stat().st_mode & 0o777 == 0o600
    body = path.read_bytes()
    if name.endswith(".zst"):
        body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    assert sorted(json.dumps(json.loads(line), sort_keys=True) for line in body.splitlines()) == (
        _events(lab)
    )
    with running_lab(tmp_path) as other:
        for _ in range(2):
            assert other.ask("import", str(path)).returncode == 0
        assert _events(other) == _events(lab)


def test_many_events_of_one_moment_are_all_read(tmp_path: Path) -> None:
    with running_lab(tmp_path) as lab:
        event = pipeline()[0]
        lines = [
            json.dumps({**event, "run": {"runId": f"0a1b2c3d-0000-4000-8000-{n:012d}"}})
            for n in range(2300)
        ]
        file = tmp_path / "many.ndjson"
        file.write_text("\n".join(lines))
        assert lab.ask("import", str(file)).returncode == 0
        assert lab.ask("export", str(tmp_path / "out.ndjson")).returncode == 0
        assert len({*(tmp_path / "out.ndjson").read_text().splitlines()}) == 2300


def test_an_import_from_a_server_of_marquez_s_api_goes_on_where_it_was(
    lab: Lab, tmp_path: Path
) -> None:
    with running_lab(tmp_path) as other:
        state = tmp_path / "state.json"
        ask = ("import", "marquez", lab.url, "--resume", str(state))
        assert other.ask(*ask).returncode == 0
        told = json.loads(state.read_text())
        assert told["done"] == len(_events(other)) > 0
        assert "0 events" not in other.ask(*ask).stderr
        assert json.loads(state.read_text())["after"] == told["after"]


def test_what_is_no_event_is_told(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "bad.ndjson"
    file.write_text('{"no": "event"}\n')
    done = lab.ask("import", str(file))
    assert (done.returncode, "1 were rejected" in done.stderr) == (1, True)
    missing = lab.ask("import", str(tmp_path / "none"))
    assert missing.returncode == 2
    assert lab.ask("import", "marquez").returncode == 2
