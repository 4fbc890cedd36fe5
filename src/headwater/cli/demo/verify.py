"""Compares what a lineage server knows with the truth about a lab, fact by fact."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from headwater.api.graph import ColumnNode, DatasetNode, JobNode
from headwater.api.jobs import Job
from headwater.cli.client import Client
from headwater.cli.demo.truth import JobTruth, Truth, place
from headwater.errors import RequestRefused

_DEPTH = 20
_DIRECT = "DIRECT"

Nodes = Mapping[str, DatasetNode | JobNode]


class Fact(Struct, frozen=True):
    """One thing that should be so, and what was found."""

    kind: str
    what: str
    expected: str
    found: str

    @property
    def right(self) -> bool:
        """Whether it is so."""
        return self.expected == self.found


def check(client: Client, truth: Truth, kafka: str) -> list[Fact]:
    """Every fact of a truth, as the server knows it now."""
    jobs = {one.id.name: one for one in client.jobs([])}
    nodes = _graph(client, truth, jobs)
    facts = [*_connected(truth, nodes, jobs, kafka)]
    for one in truth.jobs:
        facts += _job(one, jobs.get(one.name), nodes, kafka)
    for short, wanted in truth.datasets.items():
        node = nodes.get(_node_id(short, kafka))
        facts.append(Fact("columns", short, _listed(wanted), _listed(_fields(node))))
        if any(wanted.values()):
            origins = _origins(client, _node_id(short, kafka), node)
            facts += [
                Fact("comes from", f"{short}.{name}", _listed(fields), _listed(origins.get(name)))
                for name, fields in wanted.items()
            ]
    return facts


def _graph(client: Client, truth: Truth, jobs: Mapping[str, Job]) -> Nodes:
    """Everything around the jobs of the truth that have datasets, found from each in turn."""
    nodes: dict[str, DatasetNode | JobNode] = {}
    for one in truth.jobs:
        known = jobs.get(one.name)
        if known is None or not (one.reads or one.writes):
            continue
        node_id = f"job:{known.id.namespace}:{known.id.name}"
        if node_id not in nodes:
            nodes |= {key: node for key, (node, _) in client.lineage(node_id, _DEPTH).items()}
    return nodes


def _connected(truth: Truth, nodes: Nodes, jobs: Mapping[str, Job], kafka: str) -> Iterator[Fact]:
    """Whether from each topic that a source writes everything after it is reached."""
    for source in (one for one in truth.jobs if one.writes and not one.reads):
        expected = _after(source, truth)
        known = jobs.get(source.name)
        start = f"job:{known.id.namespace}:{known.id.name}" if known else ""
        names = {_node_id(short, kafka): short for short in truth.datasets}
        found = {_short(node, names) for node in _downstream(start, nodes)} if start else set()
        yield Fact("flows to", source.name, _listed(expected), _listed(found & expected))


def _after(source: JobTruth, truth: Truth) -> set[str]:
    found: set[str] = set(source.writes)
    while True:
        jobs = [one for one in truth.jobs if one.reads & found]
        more = found.union(*(one.writes for one in jobs)) | {one.name for one in jobs}
        if more == found:
            return found
        found = more


def _downstream(start: str, nodes: Nodes) -> set[str]:
    found, pending = {start}, [start]
    while pending:
        node = nodes.get(pending.pop())
        for edge in node.out_edges if node else ():
            if edge.destination not in found:
                found.add(edge.destination)
                pending.append(edge.destination)
    return found


def _short(node: str, names: Mapping[str, str]) -> str:
    return names.get(node) or node.rpartition(":")[2]


def _job(one: JobTruth, known: Job | None, nodes: Nodes, kafka: str) -> Iterator[Fact]:
    state = _state(known)
    yield Fact("state", one.name, one.state, state)
    if not (one.reads or one.writes):
        return
    node_id = f"job:{known.id.namespace}:{known.id.name}" if known else ""
    node = nodes.get(node_id)
    names = {_node_id(short, kafka): short for short in one.reads | one.writes}
    reads = {names.get(e.origin, e.origin) for e in node.in_edges} if node else set()
    writes = {names.get(e.destination, e.destination) for e in node.out_edges} if node else set()
    yield Fact("reads", one.name, _listed(one.reads), _listed(reads))
    yield Fact("writes", one.name, _listed(one.writes), _listed(writes))


def _state(known: Job | None) -> str:
    if known is None:
        return "no such job"
    return known.latest_run.state if known.latest_run else "no run"


def _fields(node: DatasetNode | JobNode | None) -> set[str]:
    return {field.name for field in node.data.fields} if isinstance(node, DatasetNode) else set()


def _origins(
    client: Client, dataset: str, node: DatasetNode | JobNode | None
) -> dict[str, set[str]]:
    """For each column of a dataset the columns that its values come from, where they begin."""
    if node is None:
        return {}
    try:
        found = {key: one for key, (one, _) in client.columns(dataset, _DEPTH).items()}
    except RequestRefused:
        return {}
    prefix = dataset.replace("dataset:", "datasetField:", 1) + ":"
    return {
        one.data.field: _beginnings(key, found)
        for key, one in found.items()
        if key.startswith(prefix)
    }


def _beginnings(start: str, nodes: Mapping[str, ColumnNode]) -> set[str]:
    found: set[str] = set()
    seen, pending = {start}, [start]
    while pending:
        node = nodes.get(pending.pop())
        if node is None:
            continue
        direct = [
            f"datasetField:{one.namespace}:{one.dataset}:{one.field}"
            for one in node.data.input_fields
            if any(step.type == _DIRECT for step in one.transformations or ())
        ]
        if not direct and node.id != start:
            found.add(f"{node.data.dataset}.{node.data.field}")
        pending += [key for key in direct if key not in seen]
        seen |= set(direct)
    return found


def _node_id(short: str, kafka: str) -> str:
    namespace, name = place(short, kafka)
    return f"dataset:{namespace}:{name}"


def _listed(values: Iterable[str] | None) -> str:
    return ", ".join(sorted(values or ())) or "-"
