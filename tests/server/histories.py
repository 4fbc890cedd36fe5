"""Random histories of events, and random ways in which they arrive."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from server.events import (
    Event,
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    minute,
    parent,
    run_event,
    schema,
    symlinks,
)

JOBS = ("extract", "load", "report")
RUNS = {"r0": "extract", "r1": "extract", "r2": "load", "r3": "load", "r4": "report"}
NAMES = (("db", "d0"), ("db", "d1"), ("db", "d2"), ("s3a://lake", "d3"), ("s3://lake", "d3"))
FIELDS = ("a", "b", "c")
_ABOVE = [("above", "dag"), ("beside", "dag")]

_minutes = st.integers(0, 6)
_names = st.sampled_from(NAMES)
_fields = st.lists(st.sampled_from(FIELDS), unique=True, max_size=3)
_words = st.sampled_from(["one", "two"])


class Arrival(NamedTuple):
    """A way in which events reach a store; it starts anew before one of the batches."""

    batches: list[list[Event]]
    restart: int | None


@st.composite
def _inputs(draw: st.DrawFn) -> list[dict[str, Any]]:
    named = draw(st.lists(st.tuples(_names, st.sampled_from(FIELDS)), max_size=2))
    return [comes_from(name, field, space) for (space, name), field in named]


@st.composite
def _column_lineage(draw: st.DrawFn) -> dict[str, Any]:
    told = draw(st.dictionaries(st.sampled_from(FIELDS), _inputs(), max_size=2))
    whole = draw(st.one_of(st.just([]), _inputs()))
    fields = {name: {"inputFields": inputs} for name, inputs in told.items()}
    return facet(fields=fields, **({"dataset": whole} if whole else {}))


@st.composite
def _explicit_lineage(draw: st.DrawFn) -> dict[str, Any]:
    sources = [{"namespace": space, "name": name, "type": "DATASET"}
               for space, name in draw(st.lists(_names, max_size=2))]  # fmt: skip
    told = draw(st.dictionaries(st.sampled_from(FIELDS), _inputs(), max_size=1))
    fields = {name: {"inputs": [{**one, "type": "DATASET"} for one in inputs]}
              for name, inputs in told.items()}  # fmt: skip
    return facet(fields=fields, **({"inputs": sources} if draw(st.booleans()) else {}))


_facets: dict[str, st.SearchStrategy[Any]] = {
    "schema": _fields.map(lambda names: schema(*names)),
    "columnLineage": _column_lineage(),
    "lineage": _explicit_lineage(),
    "symlinks": st.lists(_names, max_size=2).map(lambda names: symlinks(*names)),
    "documentation": _words.map(lambda word: facet(description=word)),
    "dataSource": st.tuples(_words, _words).map(lambda t: facet(name=t[0], uri=f"db://{t[1]}")),
    "lifecycleStateChange": st.sampled_from(["CREATE", "DROP", "ALTER"]).map(
        lambda word: facet(lifecycleStateChange=word)
    ),
}


@st.composite
def _dataset(draw: st.DrawFn) -> dict[str, Any]:
    space, name = draw(_names)
    kinds = draw(st.lists(st.sampled_from([*_facets]), unique=True, max_size=3))
    return dataset(name, space, **{kind: draw(_facets[kind]) for kind in kinds})


_checks = st.builds(
    lambda name, success: facet(assertions=[{"assertion": name, "success": success}]),
    st.sampled_from("xy"),
    st.booleans(),
)
_tags = st.sampled_from(["", "x", "y"]).map(lambda tag: facet(tags=[{"key": tag, "value": ""}]))
_facets |= {"dataQualityAssertions": _checks, "tags": _tags}
_datasets = st.one_of(st.none(), st.lists(_dataset(), max_size=2))
_job_facets = st.fixed_dictionaries(
    {},
    optional={
        "jobType": st.sampled_from(["BATCH", "STREAMING"]).map(
            lambda word: facet(processingType=word, integration="SPARK")
        ),
        "documentation": _words.map(lambda word: facet(description=word)),
        "tags": _tags,
    },
)


@st.composite
def _parent(draw: st.DrawFn) -> dict[str, Any]:
    run, job = draw(st.sampled_from([*RUNS.items(), *_ABOVE * 3]))
    if not draw(st.booleans()):
        return parent(run, job)
    root = parent(*draw(st.sampled_from([("top", "all"), ("above", "dag")])))
    return parent(run, job, root={"run": root["run"], "job": root["job"]})


@st.composite
def _run_event(draw: st.DrawFn) -> Event:
    run = draw(st.sampled_from([*RUNS]))
    is_stray = draw(st.integers(0, 9)) == 0
    facets: dict[str, Any] = {}
    if draw(st.booleans()):
        facets["parent"] = draw(_parent())
    if draw(st.integers(0, 3)) == 0:
        facets["nominalTime"] = facet(nominalStartTime=minute(draw(_minutes)))
    return run_event(
        draw(
            st.sampled_from(["START", "RUNNING", "COMPLETE", "COMPLETE", "FAIL", "ABORT", "OTHER"])
        ),
        draw(_minutes),
        run=run,
        job=draw(st.sampled_from(JOBS)) if is_stray else RUNS[run],
        inputs=draw(_datasets),
        outputs=draw(_datasets),
        job_facets=draw(_job_facets),
        **facets,
    )


@st.composite
def _write_event(draw: st.DrawFn) -> Event:
    """One of several writes into a table by one of two runs of an application."""
    application, number = draw(st.sampled_from(_ABOVE)), draw(st.integers(0, 1))
    space, name = draw(_names)
    told = {"a": {"inputFields": [comes_from(name, draw(st.sampled_from(FIELDS)), space)]}}
    return run_event(
        draw(st.sampled_from(["START", "COMPLETE"])),
        draw(_minutes),
        run=f"{application[0]} {number}",
        job="load",
        inputs=draw(st.sampled_from([None, [dataset(name, space)]])),
        outputs=[dataset("d0", columnLineage=facet(fields=told))],
        parent=parent(*application),
    )


@st.composite
def _job_event(draw: st.DrawFn) -> Event:
    return job_event(
        draw(_minutes),
        job=draw(st.sampled_from(JOBS)),
        inputs=draw(_datasets),
        outputs=draw(_datasets),
        **draw(_job_facets),
    )


@st.composite
def _dataset_event(draw: st.DrawFn) -> Event:
    return dataset_event(draw(_minutes), draw(_dataset()))


_event = st.one_of(
    _run_event(), _run_event(), _run_event(), _job_event(), _dataset_event(),
    _write_event(), _write_event(),
)  # fmt: skip
histories = st.lists(_event, min_size=1, max_size=8)


@st.composite
def arrivals(draw: st.DrawFn, events: list[Event]) -> Arrival:
    """Some order of the events, some of them twice, cut into batches."""
    again = draw(st.lists(st.sampled_from(events), max_size=2))
    order = draw(st.permutations(events + again))
    cuts = sorted(draw(st.sets(st.integers(1, len(order)), max_size=3)) | {len(order)})
    batches = [order[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
    return Arrival(batches, draw(st.one_of(st.none(), st.integers(1, len(batches)))))


@st.composite
def history_and_arrivals(draw: st.DrawFn) -> tuple[list[Event], Arrival]:
    """Events in the order they were made, and another way for them to arrive."""
    events = draw(histories)
    return events, draw(arrivals(events))
