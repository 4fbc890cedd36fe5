"""Tags that events give in `tags` facets, beside those that people give."""

import itertools
from typing import Any

import pytest

from server.api import Api
from server.events import dataset, dataset_event, facet, job_event, run_event, schema, symlinks


def _tags(*told: tuple[str, Any, str | None] | str) -> dict[str, Any]:
    """A facet of tags; each is a key, or a key with value and field."""
    found = [(one, "true", None) if isinstance(one, str) else one for one in told]
    return facet(
        tags=[
            {"key": key, "value": value, "source": "CONFIG"} | ({"field": field} if field else {})
            for key, value, field in found
        ]
    )


def _field_tags(api: Api, name: str = "t") -> dict[str, list[str]]:
    return {field["name"]: field["tags"] for field in api.dataset(name)["fields"]}


def test_tags_of_a_dataset_and_its_columns(api: Api) -> None:
    told = _tags(("gold", "gold", None), ("owner", "sales", None), ("pii", "true", "email"))
    api.send(dataset_event(1, dataset("t", schema=schema("id", "email"), tags=told)))
    assert api.dataset("t")["tags"] == ["gold", "owner:sales"]
    assert _field_tags(api) == {"id": [], "email": ["pii"]}
    assert {tag["name"] for tag in api.get("/tags")["tags"]} >= {"gold", "owner:sales", "pii"}
    (listed,) = api.get("/datasets")["datasets"]
    assert listed["tags"] == ["gold", "owner:sales"]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_the_last_facet_tells_the_tags(api: Api, order: list[int]) -> None:
    events = [
        run_event("START", 1, job_facets={"tags": _tags("old")}, tags=_tags("try")),
        run_event("RUNNING", 2, job_facets={"tags": _tags("new", ("tier", 1, None))}),
        run_event("COMPLETE", 3),
    ]
    api.send(*(events[i] for i in order))
    assert api.job("job")["tags"] == ["new", "tier:1"]
    (listed,) = api.get("/runs")["runs"]
    assert listed["tags"] == ["try"]


def test_deleted_tags_are_gone(api: Api) -> None:
    api.send(
        job_event(1, tags=_tags("a"), outputs=[dataset("t", tags=_tags("b"))]),
        job_event(2, tags=facet(_deleted=True), outputs=[dataset("t", tags=facet(_deleted=True))]),
    )
    assert (api.job("job")["tags"], api.dataset("t")["tags"]) == ([], [])


def test_tags_of_events_and_of_people_are_beside_each_other(api: Api) -> None:
    api.send(
        run_event(outputs=[dataset("t", tags=_tags("a", "b"))], job_facets={"tags": _tags("a")})
    )
    api.client.post("/api/v1/namespaces/db/datasets/t/tags/b")
    api.client.post("/api/v1/namespaces/db/datasets/t/tags/c")
    api.client.post("/api/v1/namespaces/jobs/jobs/job/tags/c")
    assert api.dataset("t")["tags"] == ["a", "b", "c"]
    assert api.job("job")["tags"] == ["a", "c"]
    api.client.delete("/api/v1/namespaces/db/datasets/t/tags/c")
    assert api.dataset("t")["tags"] == ["a", "b"]


def test_tags_are_those_of_all_names_of_a_dataset(api: Api) -> None:
    api.send(
        dataset_event(1, dataset("t", tags=_tags("a"))),
        dataset_event(2, dataset("u", "cat", tags=_tags("b"))),
        dataset_event(3, dataset("t", symlinks=symlinks(("cat", "u")))),
    )
    assert api.dataset("t")["tags"] == ["a", "b"]


@pytest.mark.parametrize("odd", [None, 7, [None], [{}], [{"key": "x" * 300}], [{"key": ""}]])
def test_odd_tags_are_kept_as_they_came(api: Api, odd: Any) -> None:
    api.send(dataset_event(1, dataset("t", tags=facet(tags=odd))))
    told = api.dataset("t")
    assert (told["tags"], told["facets"]["tags"]["tags"]) == ([], odd)
