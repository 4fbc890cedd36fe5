"""The edges that a key with namespaces sees: exactly those of which an end is its own."""

import random
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from server.events import dataset, dataset_event, minute, run_event, symlinks
from server.test_namespaces import Team, open_team

Edge = tuple[str, str]  # from a node, to a node
LATER = 30  # minutes


class Story:
    """Random jobs of two namespaces over datasets of both, and the edges that these make."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.jobs = [
            (self._place(), f"job-{number}", number + 1, self._names(), self._names())
            for number in range(10)
        ]

    def _place(self) -> str:
        return self._random.choice(("lab", "prod"))

    def _names(self) -> list[tuple[str, str]]:
        return [(self._place(), f"d{self._random.randrange(9)}") for _ in range(2)]

    def events(self) -> Iterator[dict[str, object]]:
        # Ids of jobs and of datasets must not be mistaken for each other.
        for number in range(self._random.randrange(30, 50)):
            yield self._of("prod", run_event("COMPLETE", 0, run=f"i{number}", job=f"i{number}"))
        for place, name, at, inputs, outputs in self.jobs:
            yield self._of(place, run_event(
                "COMPLETE", at, run=name, job=name,
                inputs=[dataset(named, space) for space, named in inputs],
                outputs=[dataset(named, space) for space, named in outputs],
            ))  # fmt: skip

    @staticmethod
    def _of(place: str, event: dict[str, dict[str, object]]) -> dict[str, object]:
        event["job"]["namespace"] = place
        return {**event}

    def seen(self, start: str, until: float) -> set[Edge]:
        """What is around a node, by edges of which an end is of lab."""
        edges: set[Edge] = set()
        for place, name, at, inputs, outputs in self.jobs:
            if at <= until:
                job = f"job:{place}:{name}"
                edges |= {(f"dataset:{space}:{named}", job) for space, named in inputs}
                edges |= {(job, f"dataset:{space}:{named}") for space, named in outputs}
        own = {edge for edge in edges if any(":lab:" in end for end in edge)}
        reached, found = {start}, set[Edge]()
        while more := {edge for edge in own - found if reached & {*edge}}:
            found |= more
            reached |= {end for edge in more for end in edge}
        return found


@pytest.fixture
def team(store_url: str) -> Iterator[Team]:
    with open_team(store_url, "lab") as team:
        yield team


def _edges(team: Team, node: str, more: str = "") -> set[Edge]:
    path = f"/api/v1/lineage?nodeId={quote(node, '')}&depth=50{more}"
    graph = team.ask("team", "GET", path).json()["graph"]
    told = (edge for node in graph for side in ("inEdges", "outEdges") for edge in node[side])
    return {(edge["origin"], edge["destination"]) for edge in told}


@pytest.mark.parametrize("seed", range(4))
def test_a_limited_key_sees_the_edges_of_its_own_things(team: Team, seed: int) -> None:
    story = Story(seed)
    for event in story.events():
        assert team.send("operator", event) == 201
    for place, name, at, inputs, outputs in story.jobs:
        own = [f"job:lab:{name}"] if place == "lab" else []
        own += [f"dataset:lab:{named}" for space, named in inputs + outputs if space == "lab"]
        for node in own:
            for until, more in ((LATER, ""), (at, f"&asOf={minute(at)}")):
                assert _edges(team, node, more) == story.seen(node, until), (node, more)


def test_the_names_in_a_job_are_those_of_its_graph(team: Team) -> None:
    """Also after a dataset got another name by which the key sees it."""
    job = run_event("COMPLETE", 1, run="reader", job="reader", inputs=[dataset("zz", "lab")])
    job["job"]["namespace"] = "lab"
    for at, linked in ((2, "zz"), (3, "aa")):
        told = dataset_event(at, dataset("AX", "prod", symlinks=symlinks(("lab", linked))))
        for event in (job, told):
            assert team.send("operator", event) == 201
        graph = team.ask("team", "GET", "/api/v1/lineage?nodeId=job:lab:reader").json()["graph"]
        (shown,) = (node["data"]["name"] for node in graph if node["type"] == "DATASET")
        (reader,) = (node["data"] for node in graph if node["type"] == "JOB")
        assert [one["name"] for one in reader["inputs"]] == [shown]
