"""Which failures pass by themselves: a service that is away for a moment, and nothing else."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
from botocore.exceptions import BotoCoreError, ClientError
from confluent_kafka import KafkaException
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import RegistryRefused

_DEPTH, _LENGTH = 12, 20_000
_EXCEPTION, _NAMED = re.compile(r"\b[\w.$]+(?:Exception|Error)\b"), 500
# Names of exceptions, and what services answer, while they start, stop or cannot be reached.
_PASSING = re.compile(
    r"ConnectException|ConnectTimeout|SocketTimeout|SocketException|NoRouteToHost|"
    r"UnknownHostException|ClosedChannelException|EOFException: |TTransportException|"
    r"kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable|"
    r"LeaderNotAvailable|NotLeaderOrFollower|CoordinatorNotAvailable|NotEnoughReplicas)|"
    r"AWSClientIOException|AWSServiceIOException|AWSStatus50\dException|SdkClientException|"
    r"ApiCallTimeout|Service Unavailable|SlowDown|Connection (refused|reset)|Broken pipe|"
    r"WaitingForLockException|CommitFailedException|CommitStateUnknownException|"
    r"RuntimeMetaException: Failed to connect|Failed to construct kafka consumer|"
    r"EndpointConnectionError|ConnectionClosedError|ReadTimeoutError|ConnectTimeoutError|"
    r"An error occurred \((5\d\d|InternalError|ServiceUnavailable|SlowDown)\)|"
    r"ExecutorLostFailure|Could not find valid block|_ALL_BROKERS_DOWN|_TRANSPORT|_TIMED_OUT"
)
_KAFKA = frozenset({"_ALL_BROKERS_DOWN", "_TRANSPORT", "_TIMED_OUT", "_RESOLVE", "_FAIL"})
_SERVER_ERROR, _BUSY = 500, 429


def is_transient(error: BaseException) -> bool:
    """Whether the same may well succeed a moment later."""
    if isinstance(error, RegistryRefused):
        return error.transient
    if isinstance(error, KafkaException):
        return bool(error.args[0].retriable()) or error.args[0].name() in _KAFKA
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return bool(status >= _SERVER_ERROR or status == _BUSY)
    if isinstance(error, (httpx.TransportError, ConnectionError, TimeoutError, BotoCoreError)):
        return True
    if isinstance(error, Py4JNetworkError):
        return False  # the JVM is gone: the worker ends
    return text_is_transient(_chain(error))


def text_is_transient(text: str) -> bool:
    """Whether a chain of causes, as text, names a service that could not be reached."""
    return _PASSING.search(text) is not None


def without_frames(error: str) -> str:
    """What an error of py4j tells, cause by cause, without the frames of its stack.

    Spark tells the end of an interrupted query by a pattern that begins at py4j's words, and whose
    recursion overflows the stack of the query's thread on thousands of letters behind them; then
    the query never ends. So only names of exceptions stand there.
    """
    lines = [one for one in error.splitlines() if not one.lstrip().startswith(("at ", "... "))]
    told = "\n".join(lines)[:_LENGTH]
    names = " ".join(dict.fromkeys(_EXCEPTION.findall(told)))[:_NAMED]
    return f"{told}\npy4j.protocol.Py4JJavaError: An error occurred while calling {names}"


def causes(query: StreamingQuery) -> str:
    """What a query failed of, from the exception to its first cause, a line each."""
    found: Any = query._jsq.exception()
    if not found.isDefined():
        return ""
    return "\n".join(_java_chain(found.get().cause()))


def _chain(error: BaseException) -> str:
    if isinstance(error, Py4JJavaError):
        return "\n".join(_java_chain(error.java_exception))
    cause = getattr(error, "_origin", None)
    if cause is not None and hasattr(cause, "getCause"):
        return "\n".join(_java_chain(cause))
    return f"{type(error).__name__}: {error}"


def _java_chain(error: Any) -> Iterator[str]:
    for _ in range(_DEPTH):
        if error is None:
            return
        yield str(error.toString())[:_LENGTH]
        error = error.getCause()
