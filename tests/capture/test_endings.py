"""A driver that is killed cannot tell; what it told before lets the server end its runs."""

import signal
from pathlib import Path
from typing import Any

from capture.processes import python, running
from capture.receiver import Receiver

LIVED = ["START", "RUNNING"]


def last(receiver: Receiver, job: str) -> dict[str, Any]:
    return [event for event in receiver.events if event["job"]["name"] == job][-1]


def test_killed_driver_leaves_a_lease_and_nothing_after(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, receiver.url, *python("live.py")) as app:
        app.wait_until_ready()
        receiver.wait_for(
            lambda r: any(e["job"]["name"] == "live" and e["outputs"] for e in r.events), 240
        )
        app.signal(signal.SIGKILL)
        assert app.exit_code() == -signal.SIGKILL
    assert receiver.types("live") == LIVED
    assert last(receiver, "live")["run"]["facets"]["headwater_lease"]["seconds"] == 7200
