"""The rows of datasets, found or made in a commit."""

from collections.abc import Iterable

from headwater.openlineage.names import DatasetName
from headwater.server.store.commit import Commit
from headwater.server.store.namespaces import namespace_id, namespace_name
from headwater.server.store.rows import DatasetRow
from headwater.server.store.tables import select

_SELECT = select("dataset")
_MOST_OTHERS = 10_000  # names that are read at once; each may have 2,048 characters
_OTHERS = (
    "SELECT d.root, n.name, d.name FROM dataset d JOIN dataset r ON r.id = d.root "
    "JOIN namespace n ON n.id = d.namespace "
    "WHERE d.root = ANY(?) AND d.id <> d.root AND d.namespace <> r.namespace "
    f"LIMIT {_MOST_OTHERS + 1}"
)


def find_dataset(commit: Commit, namespace: str, name: str, time: int, rank: int) -> DatasetRow:
    """The row of a dataset's name, made if it is new; a lower rank is kept."""
    cache = commit.cache
    number = cache.dataset_ids.get((namespace, name))
    if number is None:
        number = _find_or_make(commit, namespace, name, time, rank)
    elif namespace in cache.hidden_namespaces:
        namespace_id(commit, namespace, time)
    row = cache.datasets[number]
    _observe(commit, row, time, rank)
    return row


def observe_datasets(commit: Commit, datasets: Iterable[int], time: int) -> None:
    """Note that an event names datasets in lineage that was read before."""
    for row in dataset_rows(commit, datasets):
        _observe(commit, row, time, 1)


def _observe(commit: Commit, row: DatasetRow, time: int, rank: int) -> None:
    if row.first_ranked(rank) <= time:
        if time > row.updated_at:
            row.updated_at = time
            commit.changed_datasets.add(row.id)
        return
    if time < row.created_at:
        namespace_id(commit, namespace_name(commit, row.namespace), time)
    if row.root != row.id and (rank < row.rank or time < row.created_at):
        commit.contested.add(row.id)
    row.rank = min(row.rank, rank)
    if rank == 0:
        row.declared_at = min(row.declared_at, time)
    if rank <= 1:
        row.named_at = min(row.named_at, time)
    row.created_at = min(row.created_at, time)
    row.updated_at = max(row.updated_at, time)
    commit.changed_datasets.add(row.id)


def _find_or_make(commit: Commit, namespace: str, name: str, time: int, rank: int) -> int:
    cache, place = commit.cache, namespace_id(commit, namespace, time)
    rows = commit.session.all(f"{_SELECT} WHERE namespace = ? AND name = ?", place, name)
    if rows:
        row = DatasetRow.of(rows[0])
    else:
        number = cache.new_id("dataset")
        is_hidden = namespace in cache.hidden_namespaces
        row = DatasetRow(number, place, name, number, rank, time, time, is_hidden)
        commit.changed_datasets.add(number)
        commit.add("search", name, "D", number)
    cache.dataset_ids[namespace, name] = row.id
    cache.datasets.setdefault(row.id, row)
    return row.id


def dataset_rows(commit: Commit, ids: Iterable[int]) -> list[DatasetRow]:
    """The rows of datasets by id."""
    known = commit.cache.datasets
    missing = [i for i in ids if i not in known]
    if missing:
        for row in commit.session.all(f"{_SELECT} WHERE id = ANY(?)", missing):
            known.setdefault(row[0], DatasetRow.of(row))
    return [known[i] for i in ids]


def root_names(commit: Commit, datasets: Iterable[int]) -> dict[int, DatasetName]:
    """The names by which datasets are shown."""
    rows = dataset_rows(commit, datasets)
    roots = {row.id: row for row in dataset_rows(commit, {row.root for row in rows})}
    names = {
        number: DatasetName(namespace_name(commit, row.namespace), row.name)
        for number, row in roots.items()
    }
    return {row.id: names[row.root] for row in rows}


def other_names(commit: Commit, datasets: Iterable[int]) -> dict[int, list[DatasetName]] | None:
    """The first name of datasets in each namespace but that of the name by which they are shown.

    None if they are too many.
    """
    rows = dataset_rows(commit, datasets)
    if not rows:
        return {}
    found = commit.session.all(_OTHERS, [*{row.root for row in rows}])
    if len(found) > _MOST_OTHERS:
        return None
    names: dict[int, dict[str, DatasetName]] = {}
    for root, namespace, name in found:
        own, other = names.setdefault(root, {}), DatasetName(namespace, name)
        own[namespace] = min(other, own.get(namespace, other))
    return {row.id: [*names[row.root].values()] for row in rows if row.root in names}
