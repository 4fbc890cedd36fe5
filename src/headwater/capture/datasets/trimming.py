"""Removes dates and partitions from the end of a folder's name.

`raw/dt=2026-01-01` and `raw/2026/01/02` are parts of `raw`: a job that writes a folder a day
is one job that writes one dataset. The rules and their names are those of OpenLineage's Java
client, so that its Spark listener and capture name the same dataset.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from headwater.capture.datasets.naming import Dataset

Trimmer = Callable[[str], str]

_DAY = r"(?!0000)\d{4}{0}(?:0[1-9]|1[0-2]){0}(?:0[1-9]|[12]\d|3[01])"
_DATES = (
    (re.compile(r"\d{4}-\d{2}-\d{2}"), re.compile(_DAY.replace("{0}", "-"))),
    (
        re.compile(r"\d{2}\.\d{2}\.\d{4}"),
        re.compile(r"(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.(?!0000)\d{4}"),
    ),
    (re.compile(r"\d{8}"), re.compile(_DAY.replace("{0}", ""))),
)
# What may stand beside a date in a folder's name: a time of the day.
_TIME = re.compile(r"[\s:.\-\d]*(?:T[\s:.\-\d]*)?(?:Z[\s:.\-\d]*)?")
_YEAR_MONTH = re.compile(r"(?!0000)\d{4}-?(?:0[1-9]|1[0-2])")
_COMPACT_MONTH = re.compile(r"(?!0000)\d{4}(?:0[1-9]|1[0-2])")
_COMPACT_DAY = re.compile(_DAY.replace("{0}", ""))


def _date(name: str) -> str:
    """Remove a last part that is a date, with or without a time."""
    rest, last = _split(name)
    return rest if rest and _is_date(last) else name


def _key_value(name: str) -> str:
    """Remove a last part such as `country=NL`."""
    rest, last = _split(name)
    return rest if rest and last.count("=") == 1 else name


def _folders_of_a_date(name: str) -> str:
    """Remove the last parts if they are `2026/01/31` or `2026/01`."""
    parts = name.split("/")
    count = len(name.removeprefix("/").split("/"))
    if count > 2 and _COMPACT_MONTH.fullmatch("".join(parts[-2:])):
        return "/".join(parts[:-2])
    if count > 3 and _COMPACT_DAY.fullmatch("".join(parts[-3:])):
        return "/".join(parts[:-3])
    return name


def _year_month(name: str) -> str:
    """Remove a last part that is a month of a year."""
    rest, last = _split(name)
    return rest if rest and _YEAR_MONTH.fullmatch(last) else name


TRIMMERS: dict[str, Trimmer] = {
    "DateTrimmer": _date,
    "KeyValueTrimmer": _key_value,
    "MultiDirDateTrimmer": _folders_of_a_date,
    "YearMonthTrimmer": _year_month,
}


def enabled_trimmers(disabled: str) -> tuple[Trimmer, ...]:
    """All trimmers but the disabled ones: class names separated by semicolons."""
    off = {name.strip().rpartition(".")[2] for name in disabled.split(";")}
    return tuple(trimmer for name, trimmer in TRIMMERS.items() if name not in off)


def trim_name(name: str, trimmers: Iterable[Trimmer]) -> str:
    """A name without its trailing dates and partitions."""
    trimmers = tuple(trimmers)
    before = None
    while name != before:
        before = name
        for trimmer in trimmers:
            name = trimmer(name)
    return name


def trim(datasets: Iterable[Dataset], trimmers: Iterable[Trimmer]) -> tuple[Dataset, ...]:
    """Datasets under their trimmed names, each once, with the places that were trimmed away.

    A table of a catalog keeps its name: the catalog says where the table begins.
    """
    trimmers = tuple(trimmers)
    return merge(_trimmed(dataset, trimmers) for dataset in datasets)


def merge(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    """Datasets, each once, with all its places, in the latest of the states that are read."""
    found: dict[tuple[str, str], Dataset] = {}
    for dataset in datasets:
        known = found.setdefault(dataset.key, dataset)
        if known is not dataset:
            found[dataset.key] = _both(known, dataset)
    return tuple(found.values())


def _both(one: Dataset, other: Dataset) -> Dataset:
    """One dataset of two that have the same name."""
    earlier, latest = sorted((other, one), key=_state)
    return msgspec.structs.replace(
        latest,
        symlinks=latest.symlinks or earlier.symlinks,
        fields=latest.fields or earlier.fields,
        locations=tuple(dict.fromkeys((*one.locations, *other.locations))),
    )


def _state(dataset: Dataset) -> tuple[bool, float]:
    """The order of states; one that is not known comes first."""
    version = dataset.version
    return version is not None, version.number if version is not None else 0


def _trimmed(dataset: Dataset, trimmers: tuple[Trimmer, ...]) -> Dataset:
    name = dataset.name if dataset.symlinks else trim_name(dataset.name, trimmers)
    if name == dataset.name:
        return dataset
    return msgspec.structs.replace(dataset, name=name, locations=(dataset.name,))


def _split(name: str) -> tuple[str, str]:
    """A name without its last part, and that part; the first part is never split off."""
    rest, _, last = name.rpartition("/")
    return rest, last


def _is_date(text: str) -> bool:
    for date in _dates(text):
        return _TIME.fullmatch(text.replace(date, "", 1)) is not None
    return False


def _dates(text: str) -> Iterator[str]:
    for shape, valid in _DATES:
        for match in shape.finditer(text):
            if valid.fullmatch(match[0]):
                yield match[0]
