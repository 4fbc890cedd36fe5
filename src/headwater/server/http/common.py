"""What handlers share: look-ups that end in 404, and answers in JSON."""

from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import unquote

from litestar import MediaType, Response

from headwater.openlineage.names import NodeId, NodeKind
from headwater.openlineage.times import parse_moment
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.lineage.encoding import encode_answer
from headwater.server.lineage.view import StoreView

T = TypeVar("T")

_MOST = 2**31


def bounded(number: int) -> int:
    """A number that every database can hold."""
    return max(0, min(number, _MOST))


def answer(body: T, status: int = 200) -> Response[T]:
    """A JSON answer, described by what it is made from; encoded here, off the event loop.

    Raises: AnswerTooLarge.
    """
    written: Any = encode_answer(body)
    return Response(written, status_code=status, media_type=MediaType.JSON)


def dataset_of(view: StoreView, namespace: str, name: str) -> int:
    """The dataset of a path.

    Raises: NotFound.
    """
    namespace, name = unquote(namespace), unquote(name)
    found = view.dataset_id(namespace, name)
    if found is None:
        require_namespace(view, namespace)
        raise NotFound("Dataset", name)
    return found


def job_of(view: StoreView, namespace: str, name: str) -> int:
    """The job of a path.

    Raises: NotFound.
    """
    namespace, name = unquote(namespace), unquote(name)
    found = view.job_id(namespace, name)
    if found is None:
        require_namespace(view, namespace)
        raise NotFound("Job", name)
    return found


def require_namespace(view: StoreView, name: str) -> None:
    """See that a namespace is known.

    Raises: NotFound.
    """
    if not view.has_namespace(name):
        raise NotFound("Namespace", name)


def name_of(node: NodeId) -> str:
    """What to call a node that was not found: its name, where its namespace most likely ends."""
    return next((name for _, name in node.splits()), node.rest)


def dataset_node(text: str, wanted: str) -> NodeId:
    """The node id of a dataset among the parameters; `wanted` says what is asked of one.

    Raises: BadRequest.
    """
    node = NodeId.parse(text)
    if node is None or node.kind is not NodeKind.DATASET:
        raise BadRequest(detail=f"nodeId is not that of a dataset: {wanted}")
    return node


def time_of(name: str, text: str | None, default: int) -> int:
    """A time among the parameters.

    Raises: BadRequest.
    """
    if text is None:
        return default
    try:
        return parse_moment(text)
    except (ValueError, OverflowError) as error:
        raise BadRequest(detail=f"query param {name}: {error}") from None


def clock() -> datetime:
    """The server's clock."""
    return datetime.now().astimezone()
