"""What the environment says about the local platform, read once at the edge."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import platformdirs

_UNRESPONSIVE_S = 60.0


class Settings(msgspec.Struct, frozen=True):
    """Where data, jars and Java are."""

    home: Path
    cache: Path
    ivy_settings: Path | None = None
    java_home: Path | None = None
    search_path: str = ""
    unresponsive_s: float = _UNRESPONSIVE_S

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """Take the settings from environment variables, with the platform's usual places."""
        return cls(
            home=_path(environ, "HEADWATER_HOME")
            or platformdirs.user_data_path("headwater", appauthor=False),
            cache=_path(environ, "HEADWATER_CACHE")
            or platformdirs.user_cache_path("headwater", appauthor=False),
            ivy_settings=_path(environ, "HEADWATER_IVY_SETTINGS"),
            java_home=_path(environ, "JAVA_HOME"),
            search_path=environ.get("PATH", ""),
            unresponsive_s=float(environ.get("HEADWATER_UNRESPONSIVE_SECONDS", _UNRESPONSIVE_S)),
        )


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name)
    return Path(value).expanduser().absolute() if value else None
