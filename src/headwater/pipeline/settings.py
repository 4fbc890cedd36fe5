"""Where the pipeline's services are, read once at the edge."""

from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.errors import AddressMissing

_NAMES: Mapping[str, tuple[str, ...]] = {
    "bootstrap": ("KAFKA_BOOTSTRAP", "BOOTSTRAP", "KAFKA_BOOTSTRAP_SERVERS"),
    "registry": ("REGISTRY_URL", "SCHEMA_REGISTRY_URL"),
    "input_topic": ("INPUT_TOPIC",),
    "output_topic": ("OUTPUT_TOPIC",),
    "catalog": ("ICEBERG_CATALOG_NAME",),
    "metastore": ("HMS_ENDPOINT", "HIVE_METASTORE_URI"),
    "warehouse": ("ICEBERG_WAREHOUSE",),
    "s3_endpoint": ("AWS_ENDPOINT_URL",),
    "checkpoints": ("CHECKPOINTS",),
    "job_name": ("OPENLINEAGE_JOBNAME",),
    "tables": ("MAINTENANCE_TABLES",),
    "keep_seconds": ("MAINTENANCE_KEEP_SECONDS",),
    "format_version": ("ICEBERG_FORMAT_VERSION",),
}


class Settings(msgspec.Struct, frozen=True):
    """Addresses and names that connectors and jobs run with."""

    bootstrap: str = ""
    registry: str = ""
    input_topic: str = ""
    output_topic: str = ""
    catalog: str = "demo_ib"
    metastore: str = ""
    warehouse: str = "s3://warehouse"
    s3_endpoint: str = ""
    checkpoints: str = "checkpoints"
    job_name: str = ""
    tables: str = ""
    keep_seconds: str = ""
    format_version: str = ""  # of the Iceberg tables that are created; 3 unless it is given
    tolerant: bool = False
    environ: Mapping[str, str] = {}

    @classmethod
    def read(cls, environ: Mapping[str, str], **given: str | None) -> "Settings":
        """Take the settings from options first, then from the environment."""
        found = {
            field: given.get(field) or next((environ[n] for n in names if environ.get(n)), "")
            for field, names in _NAMES.items()
        }
        told: dict[str, Any] = {field: value for field, value in found.items() if value}
        return cls(**told, environ=dict(environ))

    def need(self, field: str, what: str) -> str:
        """One setting that there is no doing without.

        Raises:
            AddressMissing: it was not given.

        """
        value: str = getattr(self, field)
        if not value:
            raise AddressMissing(what, _NAMES[field])
        return value


def names() -> Mapping[str, tuple[str, ...]]:
    """Each setting with the environment variables that give it, the first one first."""
    return _NAMES
