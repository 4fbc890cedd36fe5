"""Finds what a name on the command line means; the server decides, and the choice is shown."""

from headwater.api.search import Meant, Resolution
from headwater.cli.client import Client
from headwater.cli.output import escaped, note, unescaped
from headwater.errors import AmbiguousName, RequestRefused, UnknownName, UsageError
from headwater.openlineage.names import JobName, NodeId, NodeKind

_LISTED = 12  # candidates that an error shows
_ALSO = 4  # others that a note shows
_FORBIDDEN = 403


def resolve(client: Client, text: str) -> NodeId:
    """The job, dataset or column that a name means; for a run its job.

    Raises: AmbiguousName, UnknownName.
    """
    node = NodeId.parse(text)
    is_whole = node is not None and any(True for _ in node.splits())
    try:
        meant = _meant(client, text, None)
    except RequestRefused as error:
        if error.status != _FORBIDDEN or not is_whole:
            raise
        meant = None  # a key with namespaces may ask for its nodes, but not for names
    if meant is None:
        if node is not None and is_whole:
            return node  # something of the past, or the answer says that there is no such node
        raise _unknown(client, text, "job, dataset or column")
    if meant.type == "RUN":
        note(f"{text} is a run of the job {meant.name}")
        return _parsed(str(JobName(meant.namespace, meant.name)))
    return _parsed(meant.node_id)


def resolve_topic(client: Client, text: str) -> NodeId:
    """The topic that a name means, or what else it means if there is no such topic.

    Raises: AmbiguousName, UnknownName.
    """
    is_short = bool(text.strip()) and ":" not in text
    if is_short and client.resolve(f"topic:{text}").node is not None:
        return resolve(client, f"topic:{text}")
    return resolve(client, text)


def resolve_job(client: Client, text: str) -> JobName:
    """The job that a name means.

    Raises: AmbiguousName, UnknownName.
    """
    meant = _meant(client, text, "job")
    if meant is None or meant.type not in ("JOB", "RUN"):
        raise _unknown(client, text, "job")
    return JobName(meant.namespace, meant.name)


def shown_id(client: Client, node: NodeId) -> str:
    """The id under which answers show a node: a dataset may have been asked for by an alias."""
    found = client.find(node)
    return f"{node.kind}:{node.rest}" if found is None else found.node_id


def _meant(client: Client, text: str, types: str | None) -> Meant | None:
    """What the server takes a name for, as it stands or as the commands print it."""
    if not text.strip():
        raise UsageError("the name is empty", hint="Give a node id, a name or part of a name")
    for name in dict.fromkeys((text, unescaped(text))):
        found = client.resolve(name, types)
        if found.node is not None:
            _tell_others(name, found.node, found)
            return found.node
        if found.others:
            labels = [escaped(one.label) for one in found.others[:_LISTED]]
            raise AmbiguousName(text, labels, max(0, found.total - _LISTED))
    return None


def _tell_others(text: str, node: Meant, found: Resolution) -> None:
    if found.others:
        also = ", ".join(one.label for one in found.others[:_ALSO])
        more = f" and {found.total - 1 - _ALSO} more" if found.total - 1 > _ALSO else ""
        note(f"{text} is {node.label}; also: {also}{more}")


def _unknown(client: Client, text: str, kinds: str) -> UnknownName:
    return UnknownName(text, kinds, [*map(escaped, client.resolve(text).suggestions)])


def _parsed(node_id: str) -> NodeId:
    kind, _, rest = node_id.partition(":")
    return NodeId(NodeKind(kind), rest, None)
