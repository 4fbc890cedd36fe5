"""Times: the form that most producers write is read by a short way, with the same result."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.openlineage import times
from headwater.openlineage.times import format_moment, parse_moment

_TIMES = st.datetimes(timezones=st.none())
_DIGITS = st.sampled_from(["seconds", "milliseconds", "microseconds"])
_ALMOST = st.text(alphabet="0123456789-:.,TZWt +٣", min_size=20, max_size=27)


@given(_TIMES, _DIGITS)
def test_the_short_way_reads_what_the_long_way_reads(time: datetime, digits: str) -> None:
    text = time.isoformat(timespec=digits) + "Z"
    assert times._parse_plain(text) == times._parse_any(text)


@given(_ALMOST)
def test_the_short_way_reads_nothing_that_the_long_way_refuses(text: str) -> None:
    found = times._parse_plain(text)
    if found is not None:
        assert found == times._parse_any(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-W10-1T08:00:00Z",
        "2026-03-02T08:00:00.00Z ",
        "2026-03-02T08:00:61Z",
        "2026-13-02T08:00:00.000Z",
        "9999-12-31T23:00:00.000Z",
        "2026-03-02T08:00:00:000Z",
        "2026-03-02T24:00:00Z",
        "2026-03-02T08-00-00Z",
    ],
)
def test_both_ways_refuse_the_same(text: str) -> None:
    expected: int | None
    try:
        expected = times._parse_any(text)
    except ValueError:
        expected = None
    found = times._parse_plain(text)
    assert found in (None, expected)


@given(st.integers(times._FIRST, times._LAST))
def test_a_moment_that_is_written_can_be_read(moment: int) -> None:
    assert parse_moment(format_moment(moment)) == moment


def test_a_plain_time_goes_the_short_way() -> None:
    assert times._parse_plain("2026-03-02T08:00:00Z") == parse_moment("2026-03-02 08:00:00+00:00")
    assert times._parse_plain("2026-03-02T08:00:00.5Z") is None
