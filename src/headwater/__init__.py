"""Headwater: live end-to-end data lineage for streaming pipelines."""

from headwater.errors import HeadwaterError
from headwater.version import __version__

__all__ = ["HeadwaterError", "__version__"]
