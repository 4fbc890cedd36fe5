"""Events out of one server and into another."""

import json
import os
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import zstandard

from cli.lab import LAKE, Lab, dataset, free_port, pipeline, running_lab


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


@pytest.mark.parametrize("name", ["events.ndjson.zst", "events.ndjson"])
def test_an_export_that_fails_leaves_the_one_before(lab: Lab, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert lab.ask("export", str(path)).returncode == 0
    before = path.read_bytes()
    away = f"http://127.0.0.1:{free_port()}"
    assert lab.run("export", str(path), "--server", away).returncode == 1
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    assert lab.ask("export", str(path)).returncode == 0
    assert path.stat().st_size == len(before)


def test_an_export_that_cannot_be_written_says_so(lab: Lab, tmp_path: Path) -> None:
    done = lab.ask("export", str(tmp_path / "none" / "events.ndjson"))
    assert (done.returncode, "No such file or directory" in done.stderr) == (2, True)


def test_an_export_goes_to_a_pipe(lab: Lab, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reading = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reading.start()
    assert lab.ask("export", str(pipe)).returncode == 0
    reading.join(60)
    assert len(read[0].splitlines()) == len(_events(lab))
    assert pipe.is_fifo()


@pytest.mark.parametrize("content", [b"", b"\n\n", zstandard.compress(b"")])
def test_a_file_without_events_is_not_imported(lab: Lab, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events"
    path.write_bytes(content)
    done = lab.ask("import", str(path))
    assert (done.returncode, "contains no events" in done.stderr) == (1, True)


def test_an_export_frees_what_an_event_of_the_far_future_decided(tmp_path: Path) -> None:
    """As the guide says: such an event counted at once before tolerance was limited."""
    event = pipeline()[0]
    output = dataset(LAKE, "frozen", "far:int")
    far = {**event, "eventTime": "9999-01-01T00:00:00Z", "outputs": [output]}
    after = {**event, "outputs": [dataset(LAKE, "frozen", "present:int")]}
    file, store = str(tmp_path / "events.ndjson"), tmp_path / "old"
    store.mkdir()
    with running_lab(store, HEADWATER_CLOCK_TOLERANCE="4000000d") as lab:
        lab.tell(far)
    with running_lab(store) as lab:
        lab.tell(after)
        assert _columns(lab) == ["far"]
        assert lab.ask("export", file).returncode == 0
        events = _events(lab)
    with running_lab(tmp_path) as lab:
        assert lab.ask("import", file).returncode == 0
        assert _columns(lab) == ["present"]
        assert _events(lab) == events


def _columns(lab: Lab) -> list[str]:
    place = f"{lab.url}/api/v1/namespaces/{quote(LAKE, safe='')}/datasets/frozen"
    return [field["name"] for field in httpx.get(place).json()["fields"]]


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
