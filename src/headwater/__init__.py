"""Headwater: live end-to-end data lineage for streaming pipelines."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headwater.errors import HeadwaterError, SparkMissing
from headwater.version import __version__

if TYPE_CHECKING:
    from headwater.capture.attach import attach
    from headwater.capture.classic import Capture

__all__ = ["Capture", "HeadwaterError", "__version__", "attach"]


def __getattr__(name: str) -> Any:
    """Import capture when it is asked for: it needs Spark, and most of Headwater does not."""
    if name in ("Capture", "attach"):
        if find_spec("pyspark") is None:
            raise SparkMissing
        module = "attach" if name == "attach" else "classic"
        return getattr(import_module(f"headwater.capture.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
