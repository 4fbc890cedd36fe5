"""What a key with namespaces reports of snapshots: nothing of tables that it does not cover."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.events import Event, dataset, facet, run_event
from server.test_namespaces import LAB, PROD, N, Team, _of, open_team

_TABLE = f"{N}/prod/datasets/table"
_TOLD_OF_TABLE = (
    f"{_TABLE}/snapshots", f"{_TABLE}/snapshots/111/offsets", f"{_TABLE}/snapshots/666/offsets",
    "/api/v1/why?nodeId=dataset:prod:table&snapshot=111",
)  # fmt: skip


@pytest.fixture
def team(store_url: str) -> Iterator[Team]:
    with open_team(store_url, "lab", "ours://") as found:
        for event in (*PROD, *LAB):
            assert found.send("operator", event) == 201
        yield found


def _writes(run: str, minute: float, outputs: list[Any], *snapshots: str, start: int = 0) -> Event:
    """A report of a stream from a topic, with the snapshots that it made."""
    commits = [
        {"batch": n, "snapshot": one, "sequence": n, "offsets": {"t": {"0": [start, start + 10]}}}
        for n, one in enumerate(snapshots)
    ]
    told = facet(rows=1, snapshots=[*snapshots], commits=commits) if snapshots else None
    facets = {"headwater_progress": told} if told else {}
    topic = dataset("t", "kafka://b")
    return run_event("RUNNING", minute, run=run, job=run, inputs=[topic], outputs=outputs, **facets)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_limited_key_tells_no_snapshots_of_others(
    team: Team, order: tuple[int, int], *, at_once: bool
) -> None:
    theirs = _of("prod", _writes("prod-stream", 50, [dataset("table", "prod")], "111"))
    assert team.send("operator", theirs) == 201
    before = [team.ask("operator", "GET", path).json() for path in _TOLD_OF_TABLE]
    assert "111" in str(before[0])
    mine, others = dataset("made", "lab"), dataset("table", "prod")
    events = (
        _writes("evil", 5, [others if at_once else mine], "111", "666", start=500),
        _writes("evil", 6, [others]),
    )
    for number in order:
        assert team.send("team", _of("lab", events[number])) == 201
    assert [team.ask("operator", "GET", path).json() for path in _TOLD_OF_TABLE] == before
    reached = "/api/v1/reached?topic=kafka://b/t&partition=0&firstOffset=500&lastOffset=505"
    assert "666" not in team.ask("operator", "GET", reached).text
    shared = dataset("table", "prod")
    assert team.send("operator", _of("lab", _writes("both", 51, [shared], "112"))) == 201
    told = team.ask("operator", "GET", _TOLD_OF_TABLE[0]).json()
    assert "112" in str(told)
    assert team.send("team", _of("lab", _writes("both", 52, [], "9"))) == 201
    assert team.send("team", _of("lab", _writes("both", 53, [dataset("far", "prod")]))) == 201
    assert team.ask("operator", "GET", _TOLD_OF_TABLE[0]).json() == told
    later = [_of("lab", _writes("later", 54, [], "9", "111")), _writes("later", 55, [shared])]
    for number in order:
        who = ("team", "operator")[number]
        assert team.send(who, _of("lab", later[number])) == 201
    assert team.ask("operator", "GET", _TOLD_OF_TABLE[0]).json() == told
    own = _of("lab", _writes("good", 7, [mine], "777"))
    assert team.send("team", own) == 201
    assert "777" in team.ask("team", "GET", f"{N}/lab/datasets/made/snapshots").text
