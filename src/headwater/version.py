"""The version of the distribution, for everything that names itself."""

from importlib.metadata import version

VERSION = version("headwater")
PRODUCER = f"urn:headwater:{VERSION}"
