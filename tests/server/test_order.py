"""Any order of the same events, with any repeats, batches and restarts, gives the same answers."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headwater.server.lineage.view import StoreViews
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.events import Event, as_bytes
from server.histories import Arrival, history_and_arrivals
from server.snapshot import differences, snapshot
from server.stores import Stores

_IN_CI = "CI" in os.environ
_EXAMPLES = int(os.environ.get("HEADWATER_TEST_EXAMPLES", "60"))


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=_IN_CI,
        database=None,
        print_blob=True,
        report_multiple_bugs=False,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )


@_settings(_EXAMPLES)
@given(told=history_and_arrivals())
def test_order_of_arrival_does_not_matter(
    stores: Stores, told: tuple[list[Event], Arrival]
) -> None:
    _compare(stores, "sqlite", told)


@_settings(max(1, _EXAMPLES // 6))
@given(told=history_and_arrivals())
def test_postgresql_gives_the_same_answers_in_another_order(
    stores: Stores, told: tuple[list[Event], Arrival]
) -> None:
    _compare(stores, "postgresql", told)


@_settings(max(1, _EXAMPLES // 3))
@given(told=history_and_arrivals())
def test_a_reader_that_asked_before_sees_what_changed(
    stores: Stores, told: tuple[list[Event], Arrival]
) -> None:
    url = stores.new("sqlite")
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    views = StoreViews(store.database, store.rules)
    try:
        for batch in told[1].batches:
            store.ingest([store.read(as_bytes(event)) for event in batch]).result()
            lines = differences(snapshot(store), snapshot(store, views))
            if lines:
                pytest.fail("\n".join([*lines[:12], *_written(told[1])]))
    finally:
        store.close()
        stores.drop(url)


def _compare(stores: Stores, kind: str, told: tuple[list[Event], Arrival]) -> None:
    events, arrival = told
    in_order = Arrival([sorted(events, key=lambda e: str(e["eventTime"]))], None)
    expected = _state(stores, "sqlite", in_order)
    found = _state(stores, kind, arrival)
    lines = differences(expected, found)
    if lines:
        pytest.fail("\n".join([*lines[:12], *_written(arrival)]))


def _written(arrival: Arrival) -> list[str]:
    return [f"batch {n}: {as_bytes(e).decode()}" for n, b in enumerate(arrival.batches) for e in b]


def _state(stores: Stores, kind: str, arrival: Arrival) -> dict[str, Any]:
    url = stores.new(kind)
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    try:
        for number, batch in enumerate(arrival.batches):
            if number == arrival.restart:
                store.close()
                store = Store(url, AliasRules(DEFAULT_ALIASES))
            store.ingest([store.read(as_bytes(event)) for event in batch]).result()
        return snapshot(store)
    finally:
        store.close()
        stores.drop(url)
