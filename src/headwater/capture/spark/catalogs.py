"""Names tables by their catalogs: the place is the dataset, the catalog's name a symlink."""

from pathlib import Path
from urllib.parse import urlsplit

from headwater.capture.datasets import naming
from headwater.capture.datasets.naming import Dataset, Symlink
from headwater.capture.spark.jvm import Java, attempt, call, class_name, option, private_field

_SESSION_CATALOG = "spark_catalog"
# Iceberg's table of the changes of another one.
CHANGES = "SparkChangelogTable"
# A row-level operation wraps Spark's table, which wraps Iceberg's own.
_MOST_WRAPPERS = 3


class Catalogs:
    """Reads the catalogs of one session."""

    def __init__(self, session: Java) -> None:
        self._session = session
        self._conf = session.conf()
        self._hadoop = session.sparkContext().hadoopConfiguration()

    def v1(self, table: Java) -> Dataset:
        """A table of Spark's own catalog (CatalogTable): Hive's, or a data source's."""
        identifier = table.identifier()
        database = option(identifier.database()) or "default"
        name = f"{database}.{identifier.table()}"
        symlink = self._session_symlink(name)
        place = call(table, "location")
        if place is None:
            # A table about to be made has no place yet; once made, the catalog knows it.
            made = call(self._session, "sessionState", "catalog")
            known = attempt(made, "getTableMetadata", identifier)
            place = call(known, "location") or attempt(made, "defaultTablePath", identifier)
        if place is None:
            return Dataset(symlink.namespace, symlink.name)
        dataset = naming.location(str(place.toString()))
        return Dataset(dataset.namespace, dataset.name, (symlink,))

    def files(self, path: str, *, is_local: bool) -> Dataset:
        """Files at a place that a command names as it is written in SQL."""
        if urlsplit(path).scheme:
            return naming.location(path)
        if is_local:
            return naming.location(str(Path(path).absolute()))
        default = self._hadoop_value("fs.defaultFS") or "file:///"
        return naming.location(f"{default.rstrip('/')}/{path.lstrip('/')}")

    def has(self, table: Java) -> bool:
        """Whether Spark's own catalog has a table."""
        made = call(self._session, "sessionState", "catalog")
        return attempt(made, "getTableMetadata", table.identifier()) is not None

    def v2(self, table: Java | None, catalog: str | None, name: str | None) -> Dataset | None:
        """A table of a catalog plugin: Iceberg's by its location, others by their name."""
        place = self._location(table) or (name and self._session_place(catalog, name))
        symlinks = (self._symlink(catalog, name),) if catalog and name else ()
        if place:
            dataset = naming.location(place)
            # A path instead of a name: the location says it all.
            if catalog and name and "/" in name:
                symlinks = ()
            return Dataset(dataset.namespace, dataset.name, symlinks)
        if symlinks:
            return Dataset(symlinks[0].namespace, symlinks[0].name)
        return None

    def place(self, table: Java) -> str | None:
        """Where an Iceberg table lives."""
        return self._location(table)

    def _location(self, table: Java | None) -> str | None:
        inner = iceberg(table)
        if inner is not None:
            return str(inner.location())
        properties = call(table, "properties")
        place = properties.get("location") if properties is not None else None
        return str(place) if place else None

    def _session_place(self, catalog: str | None, name: str) -> str | None:
        """Where Spark's own catalog has a table, or will have one that is about to be made."""
        if catalog != _SESSION_CATALOG:
            return None
        state = self._session.sessionState()
        identifier = attempt(state.sqlParser(), "parseTableIdentifier", name)
        known = call(attempt(state.catalog(), "getTableMetadata", identifier), "location")
        place = known or attempt(state.catalog(), "defaultTablePath", identifier)
        return str(place.toString()) if place is not None else None

    def _symlink(self, catalog: str, name: str) -> Symlink:
        kind = (self._catalog(catalog, "type") or "").lower()
        implementation = self._catalog(catalog, "catalog-impl") or ""
        uri = self._catalog(catalog, "uri") or ""
        warehouse = self._catalog(catalog, "warehouse") or ""
        if kind == "hive" or (not kind and catalog == _SESSION_CATALOG):
            return naming.metastore(uri, name) if uri else self._session_symlink(name)
        if kind == "glue" or implementation.endswith("GlueCatalog"):
            return self._glue(catalog, name)
        if kind == "hadoop" or not uri:
            return Symlink(naming.address(warehouse) if warehouse else catalog, name)
        if kind == "jdbc" or implementation.endswith("JdbcCatalog"):
            return Symlink(naming.jdbc(uri, name).namespace, name)
        return Symlink(naming.endpoint(uri), name)

    def _glue(self, catalog: str, name: str) -> Symlink:
        database, _, table = name.rpartition(".")
        region = self._catalog(catalog, "client.region") or self._hadoop_value("aws.region")
        account = self._catalog(catalog, "glue.account-id") or self._catalog(catalog, "glue.id")
        return naming.glue(region or "", account or "", database, table)

    def _session_symlink(self, name: str) -> Symlink:
        uris = self._setting("spark.sql.hive.metastore.uris") or self._setting(
            "spark.hadoop.hive.metastore.uris"
        )
        uris = uris or self._hadoop_value("hive.metastore.uris")
        if uris:
            return naming.metastore(uris, name)
        return Symlink(naming.address(self._setting("spark.sql.warehouse.dir") or "/"), name)

    def _catalog(self, catalog: str, key: str) -> str | None:
        return self._setting(f"spark.sql.catalog.{catalog}.{key}")

    def _setting(self, key: str) -> str | None:
        value = option(self._conf.getOption(key))
        return str(value) if value is not None else None

    def _hadoop_value(self, key: str) -> str | None:
        value = self._hadoop.get(key)
        return str(value) if value else None


def iceberg(table: Java | None) -> Java | None:
    """Iceberg's own table inside Spark's, if it is one."""
    for _ in range(_MOST_WRAPPERS):
        table = call(table, "table") or _changed(table)
        if call(table, "location") is not None:
            return table
    return None


def _changed(table: Java | None) -> Java | None:
    """The table whose changes another one lists."""
    if table is None or class_name(table) != CHANGES:
        return None
    return private_field(table, "table") or private_field(table, "icebergTable")
