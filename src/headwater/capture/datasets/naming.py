"""OpenLineage's naming conventions as functions of addresses; nothing here knows Spark.

A dataset on a file system is named by its physical location, so that everyone who reaches
it, by whatever catalog, reports the same one; a catalog's name for it is a symlink.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from headwater.capture.datasets.queries import Behind, is_query, read_query
from headwater.capture.plan.sources import Field

log = logging.getLogger("headwater.capture")

_OBJECT_STORES = {"s3a": "s3", "s3n": "s3", "s3": "s3", "gs": "gs", "gcs": "gs", "oss": "oss"}
# A pattern of Hadoop: the folder before its first wildcard. A host may be written in brackets.
_WILDCARD = re.compile(r"^((?:\w+://[^/]*)?[^*?\[{]*)/[^/]*?[*?\[{]")
_DEFAULT_PORTS = {
    "postgresql": "5432",
    "mysql": "3306",
    "mariadb": "3306",
    "sqlserver": "1433",
    "oracle": "1521",
    "db2": "50000",
}
_JDBC_NAMES = {"postgresql": "postgres", "sqlserver": "mssql", "mariadb": "mysql"}
_HOST = re.compile(r"^//(?P<host>\[[^\]]+\]|[^:/;?]+)(?::(?P<port>\d+))?[/:;]?(?P<rest>.*)$")


class Symlink(Struct, frozen=True):
    """Another name of a dataset: a catalog's, or a place's."""

    namespace: str
    name: str
    type: str = "TABLE"


class Version(Struct, frozen=True, order=True):
    """A state of a dataset, after all those with a smaller number."""

    number: int
    text: str


# What is read is no state of the dataset, or it is not known which: nothing later can replace it.
PART = Version(2**63, "")


class Dataset(Struct, frozen=True):
    """A dataset as capture reports it."""

    namespace: str
    name: str
    symlinks: tuple[Symlink, ...] = ()
    fields: tuple[Field, ...] = ()
    locations: tuple[str, ...] = ()  # the parts of it that are read or written, if not all of it
    behind: tuple[Behind, ...] | None = None  # its columns in a query that the database runs
    version: Version | None = None  # the state of it that is read

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the dataset."""
        return self.namespace, self.name

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """All that it is known by: its name, its symlinks, and the places that are used of it."""
        places = ((self.namespace, place) for place in self.locations)
        return frozenset((self.key, *((s.namespace, s.name) for s in self.symlinks), *places))


def renamed(dataset: Dataset, namespace: str | None, name: str | None) -> Dataset:
    """A dataset under a name that someone chose; what it was called stays as a symlink."""
    own = (namespace or dataset.namespace, name or dataset.name)
    if own == dataset.key:
        return dataset
    place = Symlink(dataset.namespace, dataset.name, "LOCATION")
    return Dataset(*own, (place, *dataset.symlinks), dataset.fields)


def topic(servers: str, name: str) -> Dataset:
    """A Kafka topic, under the first of its bootstrap servers."""
    first = servers.split(",", maxsplit=1)[0].strip()
    address = first.rpartition("://")[2]
    return Dataset(f"kafka://{address if ':' in address else f'{address}:9092'}", name)


def topics(options: Mapping[str, str]) -> Iterator[Dataset]:
    """The topics that Kafka's options subscribe to."""
    servers = options.get("kafka.bootstrap.servers", "")
    if "subscribe" in options:
        names = [name.strip() for name in options["subscribe"].split(",")]
    elif "assign" in options:
        names = sorted(_assigned(options["assign"]))
    else:
        names = [options["subscribepattern"]] if "subscribepattern" in options else []
    for name in names:
        yield topic(servers, name)


def _assigned(assign: str) -> set[str]:
    return set(json.loads(assign))


def location(uri: str) -> Dataset:
    """Files at a place: bucket and key, host and path, or a local path."""
    parts = urlsplit(uri)
    scheme = parts.scheme.lower()
    path = unquote(parts.path)
    while path.endswith("/") and len(path) > 1:
        path = path[:-1]
    if scheme in _OBJECT_STORES:
        return Dataset(f"{_OBJECT_STORES[scheme]}://{parts.netloc}", path.lstrip("/") or "/")
    if scheme in ("abfs", "abfss", "wasb", "wasbs"):
        return Dataset(f"{scheme}://{parts.netloc}", path.lstrip("/") or "/")
    if scheme in ("", "file") or not parts.netloc:
        return Dataset("file", path if path.startswith("/") else f"/{path}")
    return Dataset(f"{scheme}://{parts.netloc}", path)


def matching(pattern: str) -> Dataset:
    """Files whose places match a pattern, as those that arrive for a stream: their folder."""
    found = _WILDCARD.search(pattern)
    return location(found[1]) if found else location(pattern)


def address(uri: str) -> str:
    """A warehouse's place as a namespace of symlinks."""
    place = location(uri)
    if place.namespace == "file":
        return f"file:{place.name}"
    return place.namespace if place.name == "/" else f"{place.namespace}/{place.name.lstrip('/')}"


def endpoint(uri: str) -> str:
    """A service's address as a namespace of symlinks, without what is secret in it."""
    parts = urlsplit(uri)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def metastore(uris: str, name: str) -> Symlink:
    """A table's name in a Hive metastore, under the first of its addresses."""
    parts = urlsplit(uris.split(",", maxsplit=1)[0].strip())
    return Symlink(f"hive://{parts.netloc}", name)


def glue(region: str, account: str, database: str, table: str) -> Symlink:
    """A table's name in AWS Glue."""
    return Symlink(f"arn:aws:glue:{region}:{account}", f"table/{database}/{table}")


def from_options(options: Mapping[str, str], told: tuple[str, ...] = ()) -> tuple[Dataset, ...]:
    """Sinks that options name, Kafka, JDBC or a path; the option `topic` comes before rows."""
    if "kafka.bootstrap.servers" in options:
        names = (options["topic"],) if options.get("topic") else told
        return tuple(topic(options["kafka.bootstrap.servers"], name) for name in names)
    if "url" in options and "dbtable" in options:
        return (jdbc(options["url"], options["dbtable"]),)
    return (location(options["path"]),) if "path" in options else ()


def jdbc_tables(url: str, table_or_query: str, fields: tuple[str, ...]) -> tuple[Dataset, ...]:
    """The tables that a read by JDBC is of: the one that is named, or those of a query.

    None of a query that cannot be parsed.
    """
    if not is_query(table_or_query):
        return (jdbc(url, table_or_query),)
    kind = url.removeprefix("jdbc:").partition(":")[0]
    found = read_query(table_or_query, kind, fields)
    if found is None:
        log.warning("a query by JDBC cannot be parsed: the tables that it reads are not known")
        return ()
    return tuple(
        msgspec.structs.replace(jdbc(url, table), behind=behind) for table, behind in found.items()
    )


def jdbc(url: str, table: str) -> Dataset:
    """A table of a database reached by JDBC; credentials in the address are left out."""
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    if kind == "oracle":
        rest = "//" + rest.rpartition("@")[2].lstrip("/")
    match = _HOST.match(re.sub(r"^//[^/@]*@", "//", rest))
    if match is None:
        place = rest.rpartition("@")[2].partition("?")[0].partition(";")[0]
        return Dataset(f"{kind}:{place}", table)
    host, port = match["host"], match["port"] or _DEFAULT_PORTS.get(kind, "")
    namespace = f"{_JDBC_NAMES.get(kind, kind)}://{host}{f':{port}' if port else ''}"
    return Dataset(namespace, _jdbc_name(kind, match["rest"], table))


def _jdbc_name(kind: str, rest: str, table: str) -> str:
    database = re.split(r"[?;&]", rest)[0]
    if kind == "sqlserver":
        found = re.search(r"database(?:Name)?=([^;]+)", rest, re.IGNORECASE)
        database = found[1] if found else database
    parts = [part.strip('"`[]') for part in table.split(".")]
    if kind in ("postgresql", "sqlserver") and len(parts) == 1:
        parts.insert(0, "public" if kind == "postgresql" else "dbo")
    if database and parts[0] != database:
        parts.insert(0, database)
    return ".".join(parts)
