"""Commands that ask about history, impact and what happens now."""

import json
import subprocess
import sys
import threading
import time
from uuid import uuid4

from cli.lab import KAFKA, LAKE, Event, Lab

_JOB = {"namespace": "lab", "name": "moves"}


def _event(kind: str, minute: int, source: str, run: int) -> Event:
    return {
        "eventType": kind,
        "eventTime": f"2026-04-01T10:{minute:02d}:00Z",
        "producer": "https://example.org/lab",
        "run": {"runId": f"0a1b2c3d-0000-4000-8000-00000000000{run}"},
        "job": _JOB,
        "inputs": [{"namespace": KAFKA, "name": source}],
        "outputs": [{"namespace": LAKE, "name": "moved"}],
    }


def _started() -> Event:
    """The start of a run of a job of its own, which no other test asks about."""
    begun = {**_event("START", 10, "other", 3), "run": {"runId": str(uuid4())}}
    output = {"namespace": LAKE, "name": "watched"}
    return {**begun, "job": {"namespace": "lab", "name": "watches"}, "outputs": [output]}


def _tell(lab: Lab) -> None:
    lab.tell(_event("COMPLETE", 0, "first", 1), _event("FAIL", 5, "second", 2))


def test_lineage_as_of_a_time(spare_lab: Lab) -> None:
    _tell(spare_lab)
    now = spare_lab.ask("lineage", f"dataset:{LAKE}:moved", "--upstream").stdout
    ask = ("lineage", f"dataset:{LAKE}:moved", "--upstream", "--as-of", "2026-04-01T10:03:00Z")
    then = spare_lab.ask(*ask).stdout
    assert ("second" in now, "first" in now) == (True, False)
    assert ("second" in then, "first" in then) == (False, True)
    assert "completed" in then
    wrong = spare_lab.ask("lineage", "moved", "--as-of", "soon")
    assert (wrong.returncode, "--as-of" in wrong.stderr) == (2, True)


def test_diff_shows_what_changed_and_who_did_it(spare_lab: Lab) -> None:
    _tell(spare_lab)
    span = ("--from", "2026-04-01T10:03:00Z", "--to", "2026-04-01T10:08:00Z")
    told = spare_lab.ask("diff", "moved", *span).stdout
    assert f"+ edge   dataset:{KAFKA}:second → job:lab:moves" in told
    assert f"- edge   dataset:{KAFKA}:first → job:lab:moves" in told
    assert "by run 0a1b2c3d-0000-4000-8000-000000000002" in told
    assert spare_lab.json("diff", "moved", *span)["nodes"]["added"] == [f"dataset:{KAFKA}:second"]
    quiet = spare_lab.ask("diff", "moved", "--from", "2026-04-01T11:00:00Z")
    assert (quiet.returncode, quiet.stdout) == (0, "")


def test_impact_and_origin_list_nodes(spare_lab: Lab) -> None:
    _tell(spare_lab)
    down = spare_lab.ask("impact", f"dataset:{KAFKA}:second").stdout
    assert "job:lab:moves" in down
    assert "✕ failed" in down
    assert f"dataset:{LAKE}:moved" in down
    up = spare_lab.json("origin", f"dataset:{LAKE}:moved")
    assert [item["nodeId"] for item in up["items"]] == ["job:lab:moves", f"dataset:{KAFKA}:second"]
    table = spare_lab.ask("impact", f"dataset:{KAFKA}:second", "--csv").stdout
    assert table.startswith("nodeId,type,")


def test_watch_writes_a_line_for_each_change(spare_lab: Lab) -> None:
    spare_lab.tell(_started())
    command = [sys.executable, "-u", "-m", "headwater.cli.main", "watch", "job:lab:watches"]
    lines: list[str] = []
    watching = subprocess.Popen(
        [*command, "--json", "--server", spare_lab.url], stdout=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    reader = threading.Thread(target=lambda: lines.extend(iter(watching.stdout.readline, "")))  # type: ignore[union-attr]
    reader.start()
    try:
        for _ in range(300):  # it may not listen yet
            spare_lab.tell(_started())
            if lines:
                break
            time.sleep(0.1)
    finally:
        watching.terminate()
        watching.wait(120)
        reader.join(120)
        watching.stdout.close()
    told = json.loads(lines[0])
    assert (told["event"], told["nodeId"], told["state"]) == ("run", "job:lab:watches", "RUNNING")


def test_search_finds_a_run_by_the_beginning_of_its_id(spare_lab: Lab) -> None:
    _tell(spare_lab)
    (run,) = spare_lab.json("search", "0a1b2c3d-0000-4000-8000-000000000002", "--kind", "run")
    assert (run["name"], run["state"]) == ("moves", "FAILED")


def test_watch_shows_the_states_first_and_what_it_waits_for(spare_lab: Lab) -> None:
    """On a server where nothing happens, too."""
    spare_lab.tell(_started())
    command = [sys.executable, "-u", "-m", "headwater.cli.main", "watch", "job:lab:watches"]
    watching = subprocess.Popen(
        [*command, "--server", spare_lab.url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert watching.stdout is not None
    assert watching.stderr is not None
    try:
        assert watching.stderr.readline().startswith(f"waiting for events at {spare_lab.url}")
        line = watching.stdout.readline()
    finally:
        watching.terminate()
        watching.communicate(timeout=120)
    assert "● running" in line
    assert line.endswith("  watches\n")
