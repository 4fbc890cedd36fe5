"""Write the jar lock anew: resolve the roots below with Ivy, fetch, hash.

    .venv/bin/python tools/lock_jars.py

Versions are changed here, never in the lock.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

from headwater.stack import ivy
from headwater.stack.ivy import Wanted
from headwater.stack.lock import sha256

LOCK = Path(__file__).parent.parent / "src/headwater/stack/jars.lock.toml"
PATTERN = "out/[organisation]![module]![revision]![artifact]-[revision](-[classifier]).[ext]"

KAFKA = "4.3.1"
ICEBERG = "1.12.0"
AWS = "2.29.52"


def alone(spec: str) -> Wanted:
    group, artifact, version, *rest = spec.split(":")
    return Wanted(group, artifact, version, *rest)


def whole(spec: str) -> Wanted:
    group, artifact, version = spec.split(":")
    return Wanted(group, artifact, version, transitive=True)


def _older(
    series: str, scala: str, spark: str, tokens: str, kafka: str, iceberg: str
) -> list[Wanted]:
    return [
        alone(f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}"),
        alone(f"org.apache.spark:spark-token-provider-kafka-0-10_{scala}:{tokens}"),
        alone(f"org.apache.spark:spark-avro_{scala}:{spark}"),
        alone(f"org.apache.kafka:kafka-clients:{kafka}"),
        alone("org.apache.commons:commons-pool2:2.12.1"),
        alone(f"org.apache.iceberg:iceberg-spark-runtime-{series}_{scala}:{iceberg}"),
    ]


# name -> what is asked for, and the sets that are on its classpath already
SETS: dict[str, tuple[list[Wanted], tuple[str, ...]]] = {
    "kafka": (
        [
            whole(f"org.apache.kafka:kafka_2.13:{KAFKA}"),
            # Without this binding a broker that cannot bind says nothing.
            whole("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
        ],
        (),
    ),
    "connect": (
        [
            whole(f"org.apache.kafka:connect-runtime:{KAFKA}"),
            whole(f"org.apache.kafka:connect-json:{KAFKA}"),
        ],
        ("kafka",),
    ),
    "connect-file": ([alone(f"org.apache.kafka:connect-file:{KAFKA}")], ()),
    "connect-iceberg": (
        [
            whole(f"org.apache.iceberg:iceberg-kafka-connect:{ICEBERG}"),
            whole(f"org.apache.iceberg:iceberg-kafka-connect-transforms:{ICEBERG}"),
            whole(f"org.apache.iceberg:iceberg-parquet:{ICEBERG}"),
            whole(f"org.apache.iceberg:iceberg-aws:{ICEBERG}"),
            # The newest that is published alone; the one inside Spark's Iceberg jar is shaded.
            alone("org.apache.iceberg:iceberg-hive-metastore:1.11.0"),
        ],
        (),
    ),
    "registry": ([alone("io.apicurio:apicurio-registry-app:3.0.9:all:tar.gz")], ()),
    "s3": ([alone("org.gaul:s3proxy:4.1.0:jar-with-dependencies")], ()),
    "metastore": (
        [
            alone("org.apache.hive:hive-standalone-metastore:3.1.3:bin:tar.gz"),
            alone("commons-cli:commons-cli:1.5.0"),
            alone("commons-collections:commons-collections:3.2.2"),
            alone("commons-io:commons-io:2.15.1"),
            alone("commons-logging:commons-logging:1.2"),
            alone("com.google.code.gson:gson:2.10.1"),
            alone("org.apache.httpcomponents:httpclient:4.5.13"),
            alone("org.apache.httpcomponents:httpcore:4.4.16"),
            alone("javax.servlet:javax.servlet-api:3.1.0"),
            alone("org.slf4j:slf4j-api:1.7.36"),
        ],
        (),
    ),
    # S3A and Iceberg's S3FileIO without the 600 MB bundle; kms and url-connection-client are
    # loaded by S3FileIO whatever it does.
    "s3a": (
        [
            alone("org.apache.hadoop:hadoop-aws:3.4.2"),
            *(
                whole(f"software.amazon.awssdk:{name}:{AWS}")
                for name in (
                    "s3",
                    "s3-transfer-manager",
                    "sts",
                    "apache-client",
                    "netty-nio-client",
                    "kms",
                    "url-connection-client",
                )
            ),
            alone("software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.2.1"),
        ],
        ("pyspark",),
    ),
    "spark": (
        [
            alone("org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3"),
            alone("org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0"),
            alone("org.apache.spark:spark-avro_2.13:4.1.1"),
            alone("org.apache.kafka:kafka-clients:3.9.1"),
            alone("org.apache.commons:commons-pool2:2.12.1"),
            alone(f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG}"),
        ],
        (),
    ),
    # Older Sparks that capture must work on: only `make matrix` asks for these.
    "spark-3-5": (_older("3.5", "2.12", "3.5.7", "3.5.7", "3.4.1", ICEBERG), ()),
    "spark-4-0": (_older("4.0", "2.13", "4.0.2", "4.0.0", "3.9.1", "1.11.0"), ()),
    # Catalogs and formats that capture is tested with, and nothing else asks for: Delta; a JDBC
    # catalog in SQLite; Iceberg's own REST server, the newest that is published.
    "delta": (
        [
            alone("io.delta:delta-spark_4.1_2.13:4.3.1"),
            alone("io.delta:delta-storage:4.3.1"),
            *(
                alone(f"io.delta:delta-kernel-{name}:4.3.1")
                for name in ("api", "defaults", "unitycatalog")
            ),
        ],
        (),
    ),
    "sqlite": ([alone("org.xerial:sqlite-jdbc:3.49.1.0")], ()),
    "iceberg-rest": (
        [
            alone("org.apache.iceberg:iceberg-open-api:1.11.0:test-fixtures"),
            whole("org.apache.iceberg:iceberg-core:1.11.0"),
            whole("org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.5"),
            whole("org.eclipse.jetty.compression:jetty-compression-server:12.1.5"),
            whole("org.eclipse.jetty.compression:jetty-compression-gzip:12.1.5"),
        ],
        (),
    ),
    # A set of its own: a set names each artifact once.
    "iceberg-rest-servlet": ([alone("org.apache.iceberg:iceberg-core:1.11.0:tests")], ()),
    # OpenLineage's own listener: fetched when someone asks for it.
    "official": ([alone("io.openlineage:openlineage-spark_2.13:1.53.0")], ()),
}


def main() -> None:
    java = Path(shutil.which("java") or sys.exit("a java on PATH is needed"))
    seen: dict[str, set[tuple[str, str]]] = {"pyspark": set(_pyspark())}
    text = (
        "# Every file the Java side runs. Written by tools/lock_jars.py; change versions there.\n"
    )
    total = 0
    for name, (roots, present) in SETS.items():
        have = set().union(*(seen[one] for one in present)) if present else set()
        lines, names = [], set()
        for group, artifact, version, classifier, kind, path in sorted(_resolve(java, roots)):
            if "pyspark" in present and any(artifact == one for _, one in have):
                continue
            if (group, artifact) in have or (group, artifact) in names:
                continue
            names.add((group, artifact))
            size = path.stat().st_size
            total += size
            extra = f', classifier = "{classifier}"' if classifier else ""
            extra += f', type = "{kind}"' if kind != "jar" else ""
            lines.append(
                f'  {{ group = "{group}", artifact = "{artifact}", version = "{version}"{extra}, '
                f'size = {size}, sha256 = "{sha256(path)}" }},'
            )
        seen[name] = names
        print(f"{name:16} {len(lines):4} files {total / 1e6:7.0f} MB so far", file=sys.stderr)
        text += f"\n{name} = [\n" + "\n".join(lines) + "\n]\n"
    LOCK.write_text(text)


def _pyspark() -> Iterator[tuple[str, str]]:
    for jar in ivy.pyspark_jars().glob("*.jar"):
        yield "", re.sub(r"-\d.*", "", jar.name)


def _resolve(java: Path, roots: list[Wanted]) -> Iterator[tuple[str, str, str, str, str, Path]]:
    work = Path(gettempdir(), "headwater-lock")
    shutil.rmtree(work / "out", ignore_errors=True)
    for transitive in (False, True):
        some = [one for one in roots if one.transitive == transitive]
        if some:
            output, _ = ivy.start(java, work, some, pattern=PATTERN).communicate()
            if "UNRESOLVED" in output or "FAILED DOWNLOADS" in output:
                sys.exit(output[-3000:])
    for path in (work / "out").iterdir():
        group, artifact, version, name = path.name.split("!")
        rest = name.removeprefix(f"{artifact}-{version}").removeprefix("-")
        classifier, _, kind = rest.partition(".")
        yield group, artifact, version, classifier, kind, path


if __name__ == "__main__":
    main()
