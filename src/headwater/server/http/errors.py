"""What goes wrong in a request, and how it is told: always JSON, never a bare 500."""

import logging
import re
from collections.abc import Callable, Iterator
from gc import get_referents
from traceback import clear_frames, walk_tb
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.enums import ParamType
from litestar.exceptions import HTTPException, ValidationException

from headwater.errors import (
    AnswerTooLarge,
    BodyRejected,
    EventRejected,
    HeadwaterError,
    TooManySplits,
)
from headwater.openlineage.masking import Masker

_log = logging.getLogger(__name__)
_OF_REQUEST = BodyRejected | AnswerTooLarge | TooManySplits  # with a status of their own


class NotFound(HTTPException):
    """Something asked for is not there."""

    status_code = 404

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        super().__init__(detail=f"{kind} '{name}' not found{hint}.")


class BadRequest(HTTPException):
    """A request that cannot be understood."""

    status_code = 400


class BadParameters(HTTPException):
    """Parameters that cannot be used, each with its reason."""

    status_code = 400

    def __init__(self, *errors: str) -> None:
        super().__init__(detail="; ".join(errors), extra=list(errors))


_MOST_ERRORS, _MOST_TOLD = 100, 1000  # messages of an answer, and characters of each
_MOST_SEARCHED = 8 * _MOST_TOLD
_masker = Masker()


class KeyRequired(HTTPException):
    """A request without a valid key, where one is needed."""

    status_code = 401

    def __init__(self, *, is_given: bool) -> None:
        reason = "the API key is not valid" if is_given else "this server requires an API key"
        super().__init__(
            detail=f"{reason}; send one in the Authorization header, with the Bearer scheme",
            headers={"www-authenticate": "Bearer"},
        )


class Forbidden(HTTPException):
    """A request that its key does not allow."""

    status_code = 403

    def __init__(self, reason: str) -> None:
        super().__init__(detail=reason)


class TooManyRequests(HTTPException):
    """A key that asks more often than it may."""

    status_code = 429

    def __init__(self, name: str, wait: float) -> None:
        super().__init__(
            detail=f"the key {name!r} asks too much",
            headers={"retry-after": str(int(wait) + 1)},
        )


class TooManyStreams(HTTPException):
    """A key or an address that watches more often than it may."""

    status_code = 429

    def __init__(self, most: int) -> None:
        super().__init__(
            detail=f"a key or an address can have {most} streams open at a time; close one first",
            headers={"retry-after": "10"},
        )


def _json(status: int, body: Any) -> Response[bytes]:
    return Response(_encode(body), status_code=status, media_type=MediaType.JSON)


def _encode(body: dict[str, Any]) -> bytes:
    """A body whose messages hold no secret: addresses of stores and clusters are in them.

    What a client sent is in them, too. They are searched in the event loop, and cut for that;
    more is searched than is told, so that no part of a secret is.
    """
    found = _masker.value({key: _cut(told, _MOST_SEARCHED) for key, told in body.items()})
    return msgspec.json.encode({key: _cut(told, _MOST_TOLD) for key, told in found.items()})


def _cut(told: Any, most: int) -> Any:
    if isinstance(told, list):
        return [_cut(one, most) for one in told[:_MOST_ERRORS]]
    return f"{told[:most]}…" if isinstance(told, str) and len(told) > most else told


def on_http(_: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Tell an error with its code."""
    if isinstance(error, BadParameters):
        return _json(error.status_code, {"errors": error.extra})
    detail = error.detail or f"HTTP {error.status_code}"
    told = _json(error.status_code, {"code": error.status_code, "message": detail})
    told.headers.update(error.headers or {})
    return told


def on_validation(request: Request[Any, Any, Any], error: ValidationException) -> Response[bytes]:
    """Tell a bad parameter as Marquez does: one that is no number leads nowhere."""
    extra: Any = error.extra
    told: list[Any] = extra if isinstance(extra, list) else []
    for item in told:
        key, message = item.get("key", "body"), item.get("message", "")
        if item.get("source") == "body":
            return _json(422, {"errors": [f"{key}: {message}"]})
        if bound := _BOUND.search(message):
            place, word = ParamType(item["source"]).value, _WORDS[bound[1], bound[2]]
            reason = f"{place} param {_sent_name(request, key)} must {word.format(bound[3])}"
            return _json(400, {"errors": [reason]})
        if "Expected `" in message and "got" in message:
            return _json(404, {"code": 404, "message": "HTTP 404 Not Found"})
    missing = error.detail.partition("Missing required query parameter ")[2].partition(" ")[0]
    if missing:
        reason = "blank" if missing.strip("'") == "q" else "null"
        name = missing.strip("'")
        return _json(400, {"errors": [f"query param {name} must not be {reason}"]})
    return _json(400, {"code": 400, "message": error.detail})


_BOUND = re.compile(r"(of length )?(>=|<=) (-?\d+)")
_WORDS = {
    (None, ">="): "be greater than or equal to {}",
    (None, "<="): "be less than or equal to {}",
    ("of length ", ">="): "have at least {} characters or values",
    ("of length ", "<="): "have at most {} characters or values",
}


def _sent_name(request: Request[Any, Any, Any], name: str) -> str:
    """A parameter as a client writes it."""
    known = request.route_handler.parsed_fn_signature.parameters.get(name)
    sent: str | None = getattr(known and known.kwarg_definition, "name", None)
    return sent or name


def on_rejected(_: Request[Any, Any, Any], error: EventRejected) -> Response[bytes]:
    """Tell which field of an event is at fault."""
    return _plain(error)


def on_known(_: Request[Any, Any, Any], error: HeadwaterError) -> Response[bytes]:
    """Tell an error of ours."""
    return _plain(error)


def describe(error: HeadwaterError) -> tuple[int, bytes]:
    """The status and the body by which an error of ours is told."""
    if isinstance(error, EventRejected):
        return error.status, _encode({"errors": [error.message]})
    status = error.status if isinstance(error, _OF_REQUEST) else 503
    body = {"code": status, "message": error.message, "hint": error.hint}
    return status, _encode(body)


def _plain(error: HeadwaterError) -> Response[bytes]:
    status, body = describe(error)
    return Response(body, status_code=status, media_type=MediaType.JSON)


def on_database(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Tell that the store does not answer; the same request may go through later."""
    reason = str(error).partition("\n")[0]
    _log.warning("the store does not answer: %s", reason)
    return _json(
        503,
        {
            "code": 503,
            "message": f"the store does not answer: {reason}",
            "hint": "Send the request again later",
        },
    )


def on_recursion(request: Request[Any, Any, Any], error: RecursionError) -> Response[bytes]:
    """Tell that a body is nested more deeply than it can be read."""
    if request.method in ("GET", "HEAD"):
        return on_bug(request, error)
    return _json(400, {"code": 400, "message": "the body is nested too deeply"})


def on_bug(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Tell that the fault is ours, and log it."""
    _log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    return _json(500, {"code": 500, "message": "There was an error processing your request."})


_Handler = Callable[[Request[Any, Any, Any], Any], Response[bytes]]


def letting_go(handler: _Handler) -> _Handler:
    """A handler that frees what the request held: an error keeps its frames in a cycle.

    Until garbage is looked for, each refused request would keep its address, its body and
    what it had read.
    """

    def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        try:
            return handler(request, error)
        finally:
            for found in _errors_with(error):
                clear_frames(found.__traceback__)

    return handle


def _errors_with(error: BaseException) -> Iterator[BaseException]:
    """An error, those before it, and those that its frames hold, as Litestar's of one parameter."""
    for frame, _ in walk_tb(error.__traceback__):
        yield from (held for held in get_referents(frame) if isinstance(held, BaseException))
    before = error.__cause__ or error.__context__
    if before is not None:
        yield from _errors_with(before)
    yield error
