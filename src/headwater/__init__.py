"""Headwater: live end-to-end data lineage for streaming pipelines."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headwater.errors import HeadwaterError, SparkMissing
from headwater.version import __version__

if TYPE_CHECKING:
    from headwater.capture.attach import Capture, attach

__all__ = ["Capture", "HeadwaterError", "__version__", "attach"]


def __getattr__(name: str) -> Any:
    """Import capture when it is asked for: it needs Spark, and most of Headwater does not."""
    if name in ("Capture", "attach"):
        if find_spec("pyspark") is None:
            raise SparkMissing
        from headwater.capture import attach as module  # noqa: PLC0415

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
