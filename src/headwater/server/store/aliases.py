"""One dataset, many names: symlinks join names symmetrically, whenever they are learned.

Names joined by symlinks are a component; its root is the name that is shown. The root is
the least by (rank, age, name), so that it does not depend on what arrived first.
"""

import logging
from functools import lru_cache

from headwater.openlineage.times import FOREVER
from headwater.server.store.commit import Commit
from headwater.server.store.database import first
from headwater.server.store.datasets import dataset_rows, find_dataset
from headwater.server.store.feed import NAMES_JOINED
from headwater.server.store.namespaces import namespace_name
from headwater.server.store.rows import NEVER, DatasetRow
from headwater.server.store.tables import upsert

MOST_NAMES = 1000  # of one dataset; symlinks to more are kept in events, and join nothing
_log = logging.getLogger(__name__)
DECLARES, NAMED, ALIAS = 0, 1, 2  # ranks: says its other names; is named; is only another name


class AliasRules:
    """Namespaces that are known under another name: other brokers, `s3a://`.

    A rule `from=to` replaces the beginning of a namespace.
    """

    def __init__(self, rules: tuple[tuple[str, str], ...]) -> None:
        self.rules = rules
        self.resolve = lru_cache(maxsize=4096)(self._resolve)

    def _resolve(self, namespace: str) -> str:
        """The namespace under the name that counts."""
        for old, new in self.rules:
            if namespace.startswith(old):
                return new + namespace[len(old) :]
        return namespace


_UPSERT = upsert("alias")


def link(commit: Commit, one: DatasetRow, other: DatasetRow, time: int) -> None:
    """Join two names, as was told at a time."""
    if one.id == other.id:
        return
    pair = (one.id, other.id) if one.id < other.id else (other.id, one.id)
    if time < _linked_since(commit, pair):
        commit.session.run(_UPSERT, *pair, time)
        commit.cache.links[pair] = time
    if one.root != other.root:
        commit.joined.add(pair)


def _linked_since(commit: Commit, pair: tuple[int, int]) -> int:
    since = commit.cache.links.get(pair)
    if since is None:
        row = first(commit.session.all("SELECT since FROM alias WHERE a = ? AND b = ?", *pair))
        since = commit.cache.links[pair] = FOREVER if row is None else int(row[0])
    return since


class _Group:
    """Datasets, by their roots, that symlinks of a commit make one, and how many names it has."""

    def __init__(self, root: int, names: int) -> None:
        self.roots, self.names = {root}, names


def settle_joined(commit: Commit) -> None:
    """Make one component of all that symlinks of a commit have joined, each chosen a root once.

    Names beyond the most that a dataset may have are left as datasets of their own.
    """
    pairs, commit.joined = commit.joined, set()
    if not pairs:
        return
    commit.flush()
    rows = {
        row.id: row for row in dataset_rows(commit, {number for pair in pairs for number in pair})
    }
    counted = commit.session.all(
        "SELECT root, count(*) FROM dataset WHERE root = ANY(?) GROUP BY root",
        [*{row.root for row in rows.values()}],
    )
    groups = {root: _Group(root, names) for root, names in counted}
    apart: list[tuple[str, str]] = []
    for a, b in sorted(pairs):
        one, other = groups[rows[a].root], groups[rows[b].root]
        if one is other:
            continue
        if one.names + other.names > MOST_NAMES:
            apart.append((rows[a].name, rows[b].name))
            continue
        small, large = sorted((one, other), key=lambda group: len(group.roots))
        large.roots |= small.roots
        large.names += small.names
        groups.update(dict.fromkeys(small.roots, large))
    if apart:
        _log.warning("%d symlinks join nothing: %r and %r together have over %d names",
                     len(apart), *apart[0], MOST_NAMES)  # fmt: skip
    for group in {id(group): group for group in groups.values()}.values():
        if len(group.roots) > 1:
            settle(commit, sorted(group.roots))


def settle(commit: Commit, roots: list[int]) -> None:
    """Make one component of some, and choose its root."""
    rows = commit.session.all("SELECT id FROM dataset WHERE root = ANY(?)", roots)
    members = dataset_rows(commit, [row[0] for row in rows])
    root = min(members, key=lambda m: _precedence(commit, m)).id
    for member in members:
        if member.root != root:
            member.root = root
            commit.session.run("UPDATE dataset SET root = ? WHERE id = ?", root, member.id)
            commit.feed.graph(NAMES_JOINED, member.created_at, dataset=member.id)


def _precedence(commit: Commit, row: DatasetRow) -> tuple[int, int, str, str]:
    return row.rank, row.created_at, namespace_name(commit, row.namespace), row.name


def settle_contested(commit: Commit) -> None:
    """Choose roots again where a name has become older or ranks higher than it did."""
    if commit.contested:
        commit.flush()
        # Their roots as they are now: symlinks may have joined them with others since.
        for root in sorted({row.root for row in dataset_rows(commit, commit.contested)}):
            settle(commit, [root])
        commit.contested = set()


def apply_rules(commit: Commit, rules: AliasRules) -> None:
    """Join names that were stored before a rule was given with those the rule makes of them."""
    for number, name in commit.session.all("SELECT id, name FROM namespace"):
        better = rules.resolve(name)
        if better == name:
            continue
        for row in commit.session.all("SELECT id FROM dataset WHERE namespace = ?", number):
            old = dataset_rows(commit, [row[0]])[0]
            link(
                commit, find_dataset(commit, better, old.name, old.created_at, DECLARES), old, NEVER
            )
