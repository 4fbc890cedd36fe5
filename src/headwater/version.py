"""The version of the distribution, for everything that names itself."""

from importlib.metadata import version

__version__ = version("headwater")
PRODUCER = f"urn:headwater:{__version__}"
