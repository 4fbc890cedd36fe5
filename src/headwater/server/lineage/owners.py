"""The namespaces that a run or a node is of, for keys that are limited to some."""

from headwater.openlineage.names import NodeId, NodeKind
from headwater.server.lineage.view import StoreView, uuid_bytes

_OF_RUN = (
    "SELECT n.name FROM run r JOIN job j ON j.id = r.job JOIN namespace n ON n.id = j.namespace "
    "WHERE r.uuid = ?"
)
_OF_JOB = "SELECT n.name FROM job j JOIN namespace n ON n.id = j.namespace WHERE j.id = ?"
_OF_DATASET = "SELECT n.name FROM dataset d JOIN namespace n ON n.id = d.namespace WHERE d.root = ?"


def namespaces_of_run(view: StoreView, run: str) -> set[str]:
    """The namespace of a run's job; empty if there is no such run."""
    uuid = uuid_bytes(run)
    return set() if uuid is None else {row[0] for row in view.session.all(_OF_RUN, uuid)}


def namespaces_of_node(view: StoreView, text: str) -> set[str]:
    """The namespaces of all names of a node; empty if there is no such node."""
    node = NodeId.parse(text)
    if node is None:
        return set()
    if node.kind is NodeKind.JOB:
        job = view.find_job(node)
        return set() if job is None else {row[0] for row in view.session.all(_OF_JOB, job)}
    column = view.find_field(node) if node.kind is NodeKind.FIELD else None
    root = column[0] if column else view.find_dataset(node)
    return set() if root is None else {row[0] for row in view.session.all(_OF_DATASET, root)}
