"""Events out of one server and into another."""

import json
import os
import random
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import zstandard

from cli.lab import LAKE, Lab, dataset, pipeline, running_lab, uuid
from ports import free_port


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


TIMES = (
    "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000001Z", "0987-06-05T04:03:02.5Z",
    "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z",
    "1900-01-01", "2026-03-02T08:00:00,123456789+0530", "2026-03-02 08:00:00[Europe/Paris]",
    "9998-12-31T23:59:59Z", "9999-12-31T00:00:00Z",
)  # fmt: skip
TEXTS = (
    "\u2028", "\u2029", "\x85", "\x0b\x0c\x1c\x1d\x1e", "\r", "\n", "\r\n", "\ufeff", "\U0001f300",
    "'\"\\/", "password=hunter2", "\x7f", "x" * 600, "  ",
)  # fmt: skip
NUMBERS = ("-0", "0.1e-999", "9" * 900, "123456789012345678901234567890", "1E+2", "1e400")
GAPS = ("", " ", "\n", "\r", "\r\n", "\t", "\r\r\n \t\n\n")


def _odd(dice: random.Random, number: int) -> bytes:
    """An event that is accepted, with odd times, texts, numbers, facets and white space."""
    facet = {"text": dice.choice(TEXTS), dice.choice(TEXTS): "@NUMBER@", "list": ["@NUMBER@", {}]}
    job = f"job {number} {dice.choice(TEXTS)}"
    event: dict[str, Any] = {
        "eventTime": dice.choice(TIMES),
        "producer": "https://example.com",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json",
    }
    if dice.random() < 0.2:
        event["dataset"] = {"namespace": "db", "name": job, "facets": {"odd": facet}}
    else:
        event["job"] = {"namespace": "lab", "name": job, "facets": {"odd": facet}}
        event["outputs"] = [{"namespace": "db", "name": job}]
        if dice.random() < 0.8:
            event |= {"run": {"runId": uuid(number)}, "eventType": "COMPLETE"}
    gap, is_ascii = dice.choice(GAPS), dice.random() < 0.5
    marks = (f"{gap},{gap}", f"{gap}:{gap}")
    text = json.dumps(event, separators=marks, ensure_ascii=is_ascii)
    # An event with a secret and a number that no double can hold is refused.
    numbers = NUMBERS[:-1] if "hunter2" in text else NUMBERS
    for _ in range(text.count('"@NUMBER@"')):
        text = text.replace('"@NUMBER@"', dice.choice(numbers), 1)
    return f"{gap}{text}{gap}".encode()


def _tell_odd(lab: Lab, events: list[bytes], dice: random.Random) -> None:
    """Send events one by one and in arrays; each is accepted."""
    headers = {"content-type": "application/json"}
    while events:
        count = dice.choice((0, 0, 3, 40))
        some, events = events[: max(1, count)], events[max(1, count) :]
        body = b"[%s]" % b" ,\r\n".join(some) if count else some[0]
        sent = httpx.post(f"{lab.url}/api/v1/lineage", content=body, headers=headers)
        assert sent.status_code == 201, sent.text.replace('{"status":201},', "")


def _unmasked(lines: list[bytes]) -> list[bytes]:
    """Events without a secret, which are kept as they are."""
    return [line for line in lines if b"hunter2" not in line and b"******" not in line]


def _contents(lines: list[bytes]) -> list[str]:
    """What events say, in an order, whatever white space they have; numbers as they are written."""
    told = [json.loads(line, parse_int=str, parse_float=str) for line in lines]
    return sorted(json.dumps(event, sort_keys=True) for event in told)


@pytest.mark.parametrize("name", ["events.ndjson.zst", "events.ndjson"])
def test_every_event_that_was_accepted_comes_back(tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    events = [_odd(dice, number) for number in range(600)]
    places = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    files = [place / name for place in places]
    for place in places:
        place.mkdir()
    with running_lab(places[0]) as lab:
        _tell_odd(lab, events, dice)
        done = lab.ask("export", str(files[0]))
        assert (done.returncode, f"wrote {len(events)} events" in done.stderr) == (0, True)
    first = _lines(files[0])
    assert _contents(_unmasked(first)) == _contents(_unmasked(events))
    for place, before, after in zip(places[1:], files[:2], files[1:], strict=True):
        with running_lab(place) as lab:
            done = lab.ask("import", str(before))
            assert (done.returncode, done.stderr.strip()) == (0, f"sent {len(events)} events")
            assert lab.ask("export", str(after)).returncode == 0
    last = _lines(files[2])
    assert (len(last), _contents(_unmasked(last))) == (len(events), _contents(_unmasked(events)))


def _lines(path: Path) -> list[bytes]:
    body = path.read_bytes()
    if path.suffix == ".zst":
        body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    return body.split(b"\n")[:-1]


def test_what_an_earlier_version_exported_can_be_imported(tmp_path: Path) -> None:
    """It kept carriage returns between the parts of an event."""
    dice = random.Random(7)
    file = tmp_path / "events.ndjson"
    events = [_odd(dice, number).replace(b"\n", b" ") for number in range(50)]
    file.write_bytes(b"\r\n".join(events))
    with running_lab(tmp_path) as lab:
        assert lab.ask("import", str(file)).returncode == 0
        assert lab.ask("export", str(tmp_path / "out")).returncode == 0
    found = _lines(tmp_path / "out")
    assert len(found) == len(events)
    assert _contents(_unmasked(found)) == _contents(_unmasked(events))


def test_large_events_can_be_imported(tmp_path: Path) -> None:
    facet = {"text": "x " * 2_000_000}
    lines = [
        json.dumps({**pipeline()[0], "run": {"runId": uuid(number), "facets": {"large": facet}}})
        for number in range(20)
    ]
    (tmp_path / "large.ndjson").write_text("\n".join(lines))
    with running_lab(tmp_path) as lab:
        done = lab.ask("import", str(tmp_path / "large.ndjson"))
        assert (done.returncode, done.stderr.strip()) == (0, "sent 20 events")
        assert len(lab.ask("export", str(tmp_path / "out")).stderr.split()) == 5
        assert len(_lines(tmp_path / "out")) == 20


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
