"""What the lineage of a lab must be, told apart from anything that finds it out."""

from collections.abc import Mapping

from msgspec import Struct

# Where a dataset is, by the word before the colon of its short name.
_PLACES = {"archive": "s3://fh-dev-bucket", "table": "s3://warehouse"}

Columns = Mapping[str, frozenset[str]]


class JobTruth(Struct, frozen=True):
    """A job, what it reads and writes by short names, and the state it should be in."""

    name: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    state: str = "RUNNING"


class Truth(Struct, frozen=True):
    """Every job, and every dataset with its columns.

    A column's value is the columns of topics that its values come from, however many steps
    away; a column that only counts, or that is made up, comes from none.
    """

    jobs: tuple[JobTruth, ...]
    datasets: Mapping[str, Columns]


def place(short: str, kafka: str) -> tuple[str, str]:
    """The namespace and name of a dataset by its short name, such as `topic:orders`."""
    kind, _, name = short.partition(":")
    return (f"kafka://{kafka}" if kind == "topic" else _PLACES[kind]), name


def job(name: str, reads: str = "", writes: str = "", state: str = "RUNNING") -> JobTruth:
    """A job's truth, its datasets separated by spaces."""
    return JobTruth(name, frozenset(reads.split()), frozenset(writes.split()), state)


def columns(topic: str, **given: str) -> Columns:
    """Columns and the fields of a topic that they come from, separated by spaces."""
    return {
        name: frozenset(f"{topic}.{field}" for field in origins.split())
        for name, origins in given.items()
    }


def same(topic: str, *names: str, more: tuple[str, ...] = ()) -> Columns:
    """Columns that come from the topic's fields of the same names, and `more` that do not."""
    copied = {name: frozenset({f"{topic}.{name}"}) for name in names}
    return {**copied, **{name: frozenset[str]() for name in more}}
