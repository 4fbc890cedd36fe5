"""Finds what a name on the command line means: a node id as it stands, else by searching."""

from typing import NamedTuple

from headwater.cli.answers import Found
from headwater.cli.client import Client
from headwater.errors import AmbiguousName, UnknownName, UsageError
from headwater.openlineage.names import DatasetName, FieldName, JobName, NodeId, NodeKind

_MOST = 200  # names that are looked through
_LISTED = 12  # candidates that an error shows
_FILTERS = {NodeKind.JOB: "JOB", NodeKind.DATASET: "DATASET", NodeKind.FIELD: "FIELD"}
_WORDS = {"JOB": "job", "DATASET": "dataset", "FIELD": "column"}
_ORDER = [("JOB", "DATASET"), ("FIELD",)]


class Wanted(NamedTuple):
    """What is looked for: a text, and the kinds of things it may name."""

    text: str
    kinds: tuple[str, ...]


def resolve(client: Client, text: str, *, columns: bool = False) -> NodeId:
    """The node that a text means; columns are looked at if asked for, or if nothing else fits.

    Raises: AmbiguousName, UnknownName.
    """
    node = NodeId.parse(text)
    if node is not None and node.kind is NodeKind.RUN:
        raise UsageError(
            f"{text!r} is a run, which has no lineage of its own",
            hint="Ask for its job; `headwater events --run ID` shows what the run told",
        )
    if node is not None and any(True for _ in node.splits()):
        return node
    if node is not None:
        return _search(client, [Wanted(node.rest, (_FILTERS[node.kind],))])
    if columns:
        return _search(client, [Wanted(text, ("JOB", "DATASET", "FIELD"))])
    return _search(client, [Wanted(text, kinds) for kinds in _ORDER])


def resolve_job(client: Client, text: str) -> JobName:
    """The job that a text means.

    Raises: AmbiguousName, UnknownName.
    """
    node = NodeId.parse(text)
    if node is None or node.kind is not NodeKind.JOB or not [*node.splits()]:
        rest = node.rest if node is not None and node.kind is NodeKind.JOB else text
        node = _search(client, [Wanted(rest, ("JOB",))])
    job = client.job(node)
    if job is None:
        raise UnknownName(node.rest, "job")
    return JobName(job.id.namespace, job.id.name)


def shown_id(client: Client, node: NodeId) -> str:
    """The id under which answers show a node: a dataset may have been asked for by an alias."""
    if node.kind is NodeKind.DATASET:
        dataset = client.dataset(node)
        if dataset is not None:
            return str(DatasetName(dataset.id.namespace, dataset.id.name))
    if node.kind is NodeKind.FIELD:
        cut = len(node.rest)
        while (cut := node.rest.rfind(":", 0, cut)) > 0:
            dataset = client.dataset(NodeId(NodeKind.DATASET, node.rest[:cut], None))
            if dataset is not None:
                place = dataset.id
                return str(FieldName(place.namespace, place.name, node.rest[cut + 1 :]))
    return f"{node.kind}:{node.rest}"


def _search(client: Client, ways: list[Wanted]) -> NodeId:
    for wanted in ways:
        found = _matches(client, wanted)
        if found:
            return _only(wanted.text, found)
    kinds = [_WORDS[kind] for wanted in ways for kind in wanted.kinds]
    told = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    raise UnknownName(ways[0].text, told)


def _matches(client: Client, wanted: Wanted) -> list[Found]:
    """What fits; where something has exactly the name, only that."""
    if not wanted.text.strip():
        raise UsageError("the name is empty", hint="Give a node id, a name or a part of one")
    found: dict[str, Found] = {}
    for kind in wanted.kinds:
        for text in _queries(kind, wanted.text):
            for one in client.search(text, kind, _MOST):
                if _fits(one, wanted.text):
                    found.setdefault(one.node_id, one)
    exact = [one for one in found.values() if wanted.text in _names(one)]
    return exact or [*found.values()]


def _queries(kind: str, text: str) -> list[str]:
    """A column may be given with its dataset, as `orders.price`."""
    last = text.rpartition(".")[2]
    return [text, last] if kind == "FIELD" and last not in ("", text) else [text]


def _fits(one: Found, text: str) -> bool:
    return any(text.lower() in name.lower() for name in _names(one))


def _names(one: Found) -> tuple[str, ...]:
    return (one.name,) if one.field is None else (one.field, f"{one.name}.{one.field}")


def _only(text: str, found: list[Found]) -> NodeId:
    if len(found) > 1:
        ids = [one.node_id for one in found]
        raise AmbiguousName(text, ids[:_LISTED], len(ids) - _LISTED if len(ids) > _LISTED else 0)
    node = NodeId.parse(found[0].node_id)
    if node is None:
        raise UnknownName(text, "node")
    return node
