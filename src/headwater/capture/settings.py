"""Capture's settings, read once: arguments first, then Spark's conf, then OpenLineage's own."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from headwater.errors import BadSetting

PREFIX = "spark.headwater."
_TRIMMERS = "spark.openlineage.dataset.disabledTrimmers"


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be set about capture."""

    url: str | None = None
    api_key: str | None = None
    namespace: str = "default"
    app_name: str | None = None
    heartbeat_seconds: float = 10.0
    lease_seconds: float = 60.0
    spool_dir: str = ""
    spool_megabytes: float = 64.0
    flush_seconds: float = 5.0
    registry_url: str | None = None
    registry_auth: str | None = None
    registry_seconds: float = 30.0
    disabled_trimmers: str = ""
    parent_run_id: str | None = None
    parent_job: str | None = None
    disabled: bool = False


def read_settings(
    arguments: Mapping[str, Any], conf: Mapping[str, str], environ: Mapping[str, str]
) -> Settings:
    """Merge the three places that settings come from.

    Raises:
        BadSetting: a value that is not of its setting's type, or an unknown setting.

    """
    found: dict[str, Any] = _from_environment(environ)
    if _TRIMMERS in conf:
        found["disabled_trimmers"] = conf[_TRIMMERS]
    for key, value in conf.items():
        # What has another dot belongs to others: `spark.headwater.kafka.bootstrap.servers`.
        if key.startswith(PREFIX) and "." not in key.removeprefix(PREFIX):
            found[_snake(key.removeprefix(PREFIX))] = value
    found.update({key: value for key, value in arguments.items() if value is not None})
    found.setdefault("spool_dir", str(_default_spool(environ)))
    try:
        return msgspec.convert(found, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadSetting(str(error)) from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {
        "OPENLINEAGE_NAMESPACE": "namespace",
        "OPENLINEAGE_DISABLED": "disabled",
        "HEADWATER_SPOOL_DIR": "spool_dir",
        "HEADWATER_HEARTBEAT_SECONDS": "heartbeat_seconds",
        "HEADWATER_LEASE_SECONDS": "lease_seconds",
        "HEADWATER_APP_NAME": "app_name",
        "SCHEMA_REGISTRY_URL": "registry_url",
        "SCHEMA_REGISTRY_AUTH": "registry_auth",
    }
    found: dict[str, Any] = {
        name: environ[variable] for variable, name in names.items() if environ.get(variable)
    }
    parent = environ.get("OPENLINEAGE_PARENT_ID", "")
    namespace, job, run = [*parent.split("/"), "", "", ""][:3]
    if run:
        found.update(parent_job=f"{namespace}/{job}", parent_run_id=run)
    return found


def _default_spool(environ: Mapping[str, str]) -> Path:
    home = environ.get("XDG_STATE_HOME") or environ.get("HOME")
    # Everyone may write to the folder for temporary files, so that a name in it is the user's.
    shared = Path(tempfile.gettempdir()) / f"headwater-{os.geteuid()}" / "spool"
    if not home:
        return shared
    base = Path(home) if environ.get("XDG_STATE_HOME") else Path(home) / ".local" / "state"
    return base / "headwater" / "spool" if os.access(_existing(base), os.W_OK) else shared


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).replace(".", "_")
