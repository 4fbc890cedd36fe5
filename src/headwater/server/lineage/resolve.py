"""Decides what a name means, the way a person would.

A name is a node id, or the name of a job, dataset or column, with a kind before it if wanted
(`topic:orders.price`). Where several things have the name, a table of a catalog comes before its
files and before topics; then what is in use comes before what is not, and what has more readers
before what has fewer. The others are listed.
"""

from typing import NamedTuple

from headwater.api.search import Meant, Resolution
from headwater.openlineage.kinds import DatasetKind
from headwater.openlineage.names import NodeId, NodeKind
from headwater.server.lineage.candidates import Candidate, Level, Lookup, Shown
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.search import search_all
from headwater.server.lineage.view import StoreView, moment, uuid_bytes, uuid_text

TYPES = ("JOB", "DATASET", "COLUMN")
_DAY = 86_400 * 1_000_000  # microseconds; what is older than the newest by more is out of use
_LISTED = 20  # others that are told
_LABELLED = 8  # candidates for which a short name is looked for
_SUGGESTED = 5
_UUID = 36  # characters
_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "job": (("JOB",), ()),
    "dataset": (("DATASET",), ()),
    "table": (("DATASET", "COLUMN"), (DatasetKind.TABLE,)),
    "database": (("DATASET", "COLUMN"), (DatasetKind.TABLE,)),
    "topic": (("DATASET", "COLUMN"), (DatasetKind.TOPIC,)),
    "files": (("DATASET", "COLUMN"), (DatasetKind.FILES,)),
    "file": (("DATASET", "COLUMN"), (DatasetKind.FILES,)),
    "objects": (("DATASET", "COLUMN"), (DatasetKind.FILES,)),
    "column": (("COLUMN",), ()),
    "field": (("COLUMN",), ()),
    "datasetField": (("COLUMN",), ()),
}
_OF_NODE = {NodeKind.JOB: "JOB", NodeKind.DATASET: "DATASET", NodeKind.FIELD: "COLUMN"}
_ORDER = {"DATASET": 0, "JOB": 1, "COLUMN": 2}


class _Question(NamedTuple):
    text: str
    types: tuple[str, ...]
    kinds: tuple[str, ...] = ()


def resolve(
    view: StoreView, text: str, types: tuple[str, ...], *, is_exact: bool = False
) -> Resolution:
    """What a name means: of these types, unless it is a node id or has a kind before it.

    If exact, it is taken for a node id and nothing else.
    """
    lookup = Lookup(view)
    meant = _node(view, lookup, text)
    if meant is not None:
        return Resolution(meant, [], 1, [])
    if is_exact:
        return Resolution(None, [], 0, [])
    found = _found(lookup, text, types)
    if found:
        return _resolution(lookup, found)
    near = search_all(view, text, ["job", "dataset", "column"], None, _SUGGESTED)
    return Resolution(None, [], 0, [thing.node_id for thing in near])


def _node(view: StoreView, lookup: Lookup, text: str) -> Meant | None:
    """The node of a node id."""
    node = NodeId.parse(text)
    if node is None or node.kind is NodeKind.RUN:
        return _run(view, text.removeprefix("run:"))
    found: Candidate | None = None
    if node.kind is NodeKind.FIELD and (column := view.find_field(node)) is not None:
        found = Candidate(Level.EXACT, "COLUMN", *column)
    elif node.kind is NodeKind.JOB and (job := view.find_job(node)) is not None:
        found = Candidate(Level.EXACT, "JOB", job)
    elif node.kind is NodeKind.DATASET and (root := view.find_dataset(node)) is not None:
        found = Candidate(Level.EXACT, "DATASET", root)
    if found is None:
        return None
    shown = lookup.shown([found])
    return _meant(found, shown[found], shown[found].node_id(found)) if shown else None


def _run(view: StoreView, text: str) -> Meant | None:
    uuid = uuid_bytes(text) if len(text) == _UUID else None
    if uuid is None:
        return None
    own, params = view.scope.within("j.namespace")
    rows = view.session.all(
        "SELECT r.uuid, n.name, j.name, r.updated_at FROM run r JOIN job j ON j.id = r.job "
        f"JOIN namespace n ON n.id = j.namespace WHERE r.uuid = ? AND r.{LISTED}{own}",
        uuid, *params,
    )  # fmt: skip
    for found, namespace, name, updated in rows:
        node_id = f"run:{uuid_text(found)}"
        return Meant("RUN", "run", node_id, name, namespace, None, moment(updated), node_id)
    return None


def _found(lookup: Lookup, text: str, types: tuple[str, ...]) -> dict[Candidate, Shown]:
    """What fits, the one that is meant first: by its name, else by a part of the name."""
    questions = _questions(text, types)
    for candidates in (_named, _parts):
        found: dict[Candidate, Shown] = {}
        for question in questions:
            fitting = _of_kind(lookup, question, candidates(lookup, question))
            known = {one[1:] for one in found}
            ordered = _ordered(lookup, fitting)
            found |= {one: fitting[one] for one in ordered if one[1:] not in known}
        if found:
            return found
    return {}


def _questions(text: str, types: tuple[str, ...]) -> list[_Question]:
    """How a text can be read: with a kind before the name, else as a name."""
    word, colon, rest = text.partition(":")
    if not colon or not rest or word not in _KINDS:
        return [_Question(text, types)]
    of_kind, kinds = _KINDS[word]
    wanted = tuple(type_ for type_ in of_kind if type_ in types)
    return [_Question(rest, wanted, kinds), _Question(text, types)]


def _named(lookup: Lookup, question: _Question) -> list[Candidate]:
    text, types, _ = question
    found: list[Candidate] = []
    if "DATASET" in types:
        found += lookup.datasets(text)
    if "JOB" in types:
        found += lookup.jobs(text)
    if "COLUMN" in types:
        found += lookup.columns(text)
    return found


def _parts(lookup: Lookup, question: _Question) -> list[Candidate]:
    return [*lookup.parts(question.text, question.types)]


def _of_kind(
    lookup: Lookup, question: _Question, found: list[Candidate]
) -> dict[Candidate, Shown]:  # fmt: skip
    """Candidates of the kind that is asked for, each by its best level."""
    best: dict[tuple[str, int, str], Candidate] = {}
    for one in found:
        key = one.type, one.id, one.field
        best[key] = min(one, best.get(key, one))
    shown = lookup.shown(best.values())
    kinds = question.kinds
    return {one: known for one, known in shown.items() if not kinds or known.kind in kinds}


def _resolution(lookup: Lookup, found: dict[Candidate, Shown]) -> Resolution:
    ordered = [*found]
    meant = [
        _meant(one, found[one], _label(lookup, one, found[one], is_short=number < _LABELLED))
        for number, one in enumerate(ordered[: _LISTED + 1])
    ]
    if ordered[0].level > Level.LAST_PART and len(ordered) > 1:
        return Resolution(None, meant[:_LISTED], len(ordered), [])
    return Resolution(meant[0], meant[1:], len(ordered), [])


def _ordered(lookup: Lookup, found: dict[Candidate, Shown]) -> list[Candidate]:
    """Candidates, the one that is meant first."""
    if len(found) < 2:
        return [*found]
    newest = max(shown.updated_at for shown in found.values())
    readers = lookup.readers([one.id for one in found if one.type != "JOB"])

    def order(one: Candidate) -> tuple[object, ...]:
        shown = found[one]
        return (
            Level.EXACT if one.level is Level.TABLE else one.level,
            _ORDER[one.type],
            shown.kind != DatasetKind.TABLE,
            one.level,
            newest - shown.updated_at > _DAY,
            -readers.get(one.id, 0) if one.type != "JOB" else 0,
            -shown.updated_at if one.type == "JOB" else 0,
            shown.kind,
            shown.node_id(one),
        )

    return sorted(found, key=order)


def _label(lookup: Lookup, one: Candidate, shown: Shown, *, is_short: bool) -> str:
    """The name with its kind before it where that means only this, else the node id."""
    label = f"{shown.kind}:{shown.name}.{one.field}" if one.field else f"{shown.kind}:{shown.name}"
    if not is_short or ":" in shown.name:
        return shown.node_id(one)
    meant = next(iter(_found(lookup, label, TYPES)), None)
    return label if meant is not None and meant[1:] == one[1:] else shown.node_id(one)


def _meant(one: Candidate, shown: Shown, label: str) -> Meant:
    return Meant(
        one.type,
        shown.kind,
        shown.node_id(one),
        shown.name,
        shown.namespace,
        one.field or None,
        moment(shown.updated_at),
        label,
    )
