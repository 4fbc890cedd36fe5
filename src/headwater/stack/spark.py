"""What Spark and other clients need to use a platform: jars, configuration, addresses."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from headwater.stack import lock
from headwater.stack.fetch import JarCache, Progress
from headwater.stack.history import event_logs
from headwater.stack.java import java_home
from headwater.stack.service import S3_KEY, S3_REGION, S3_SECRET
from headwater.stack.settings import Settings
from headwater.stack.state import State, running

CATALOG = "demo_ib"
SPARK_SETS = ("spark", "s3a")
OFFICIAL_SETS = ("official",)


def spark_jars(
    settings: Settings,
    *,
    sets: Iterable[str] = SPARK_SETS,
    progress: Progress | None = None,
) -> list[Path]:
    """The jars for `spark.jars`, fetched if they are not here yet.

    Raises:
        StackError: Java or a jar cannot be had.

    """
    return _jars(settings, sets, progress)


def official_jar(settings: Settings) -> Path:
    """OpenLineage's own listener, fetched if it is not here yet.

    Raises:
        StackError: Java or the jar cannot be had.

    """
    return _jars(settings, OFFICIAL_SETS)[0]


def spark_conf(
    settings: Settings, *, catalog: str = CATALOG, progress: Progress | None = None
) -> dict[str, str]:
    """The Spark configuration for a running platform: jars, addresses, object store, catalog.

    Raises:
        NotUp: no platform runs.
        StackError: Java or a jar cannot be had.

    """
    state = running(settings.home)
    conf = {
        "spark.jars": ",".join(map(str, spark_jars(settings, progress=progress))),
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
    }
    services = state.services
    conf |= _addresses(state)
    if "s3" in services:
        conf |= _s3a(services["s3"].address)
    if "metastore" in services and "s3" in services:
        conf |= _iceberg(catalog, services["metastore"].address, services["s3"].address)
    if "history" in services:
        conf |= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": event_logs(state.home).as_uri(),
            "spark.eventLog.rolling.enabled": "true",
        }
    return conf


def environment(state: State) -> dict[str, str]:
    """The addresses of a running platform, under the names that clients read."""
    addresses = {name: service.address for name, service in state.services.items()}
    variables = {
        "HEADWATER_HOME": str(state.home),
        "JAVA_HOME": str(state.java_home),
        "KAFKA_BOOTSTRAP_SERVERS": addresses.get("kafka", ""),
        "SCHEMA_REGISTRY_URL": _registry(addresses.get("registry", "")),
        "AWS_ENDPOINT_URL": addresses.get("s3", ""),
        "HIVE_METASTORE_URI": addresses.get("metastore", ""),
        "OPENLINEAGE_URL": addresses.get("server", ""),
        "HEADWATER_WORKER": addresses.get("worker", ""),
        "CONNECT_URL": addresses.get("connect", ""),
        "SPARK_HISTORY_URL": addresses.get("history", ""),
    }
    if "s3" in addresses:
        variables |= {
            "AWS_ACCESS_KEY_ID": S3_KEY,
            "AWS_SECRET_ACCESS_KEY": S3_SECRET,
            "AWS_REGION": S3_REGION,
        }
    return {name: value for name, value in variables.items() if value}


def _jars(settings: Settings, sets: Iterable[str], progress: Progress | None = None) -> list[Path]:
    cache = JarCache(settings.cache, ivy_settings=settings.ivy_settings)
    jars = lock.load().jars(sets)
    if cache.missing(jars):
        cache.ensure(jars, java_home(settings) / "bin" / "java", progress=progress)
    return [cache.path(jar) for jar in jars]


def _addresses(state: State) -> Mapping[str, str]:
    """What capture, and a job by `spark.conf.get`, ask for wherever the driver runs."""
    variables = environment(state)
    names = {
        "spark.headwater.kafka.bootstrap.servers": "KAFKA_BOOTSTRAP_SERVERS",
        "spark.headwater.registryUrl": "SCHEMA_REGISTRY_URL",
        "spark.headwater.url": "OPENLINEAGE_URL",
    }
    return {name: variables[key] for name, key in names.items() if key in variables}


def _registry(address: str) -> str:
    return f"{address}/apis/ccompat/v7" if address else ""


def _s3a(endpoint: str) -> Mapping[str, str]:
    prefix = "spark.hadoop.fs"
    return {
        f"{prefix}.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        f"{prefix}.s3a.endpoint": endpoint,
        f"{prefix}.s3a.endpoint.region": S3_REGION,
        f"{prefix}.s3a.path.style.access": "true",
        f"{prefix}.s3a.connection.ssl.enabled": "false",
        f"{prefix}.s3a.access.key": S3_KEY,
        f"{prefix}.s3a.secret.key": S3_SECRET,
    }


def _iceberg(catalog: str, metastore: str, s3: str) -> Mapping[str, str]:
    prefix = f"spark.sql.catalog.{catalog}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hive",
        f"{prefix}.uri": metastore,
        f"{prefix}.warehouse": "s3://warehouse",
        f"{prefix}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        f"{prefix}.s3.endpoint": s3,
        f"{prefix}.s3.path-style-access": "true",
        f"{prefix}.s3.access-key-id": S3_KEY,
        f"{prefix}.s3.secret-access-key": S3_SECRET,
        f"{prefix}.client.region": S3_REGION,
        # The Apache 5 client that Iceberg would take is not among the slim jars.
        f"{prefix}.http-client.type": "urlconnection",
        # Well below the metastore's 20 s, after which a silent holder loses its lock.
        "spark.hadoop.iceberg.hive.lock-heartbeat-interval-ms": "5000",
    }
