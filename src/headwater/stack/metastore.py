"""The Hive Metastore: the catalog of the tables in the warehouse, over an embedded Derby."""

import re
import shutil
import socket
import struct
from collections.abc import Mapping
from xml.sax.saxutils import escape

from headwater.errors import HeadwaterError, MetastoreCorrupt
from headwater.stack.files import write_atomically
from headwater.stack.ivy import pyspark_jars
from headwater.stack.ports import HOST
from headwater.stack.service import (
    S3_KEY,
    S3_REGION,
    S3_SECRET,
    SMALL_JVM,
    PlatformLayout,
    Service,
    Tool,
)

# DataNucleus and Derby of that time reach into the JDK.
_OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.net", "java.util")
)

# The reply of Thrift's binary protocol: strict version 1, then the kind of message.
_CALL, _REPLY = 0x80010001, 0x80010002


def metastore_uri(layout: PlatformLayout) -> str:
    """The address that Hive clients take."""
    return f"thrift://{layout.endpoint('metastore')}"


def _prepare(layout: PlatformLayout, run: Tool) -> None:
    """Write the configuration, and make the database whole before it gets its name."""
    data = layout.data("metastore")
    ready, part = data / "derby", data / "derby.part"
    if not ready.exists():
        shutil.rmtree(part, ignore_errors=True)
        _configure(layout, part.name)
        tool = "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool"
        run([*_java(layout), tool, "-initSchema", "-dbType", "derby"], _variables(layout))
        part.rename(ready)
    _configure(layout, ready.name)


def _configure(layout: PlatformLayout, database: str) -> None:
    rows = "\n".join(
        f"  <property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in _properties(layout, database).items()
    )
    text = f'<?xml version="1.0"?>\n<configuration>\n{rows}\n</configuration>\n'
    write_atomically(layout.data("metastore") / "conf" / "metastore-site.xml", text)


def _properties(layout: PlatformLayout, database: str) -> Mapping[str, str]:
    package = "org.apache.hadoop.hive.metastore"
    return {
        # Relative to the process's folder: the schema tool cannot take a path with a space.
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={database};create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "false",
        "metastore.schema.verification": "true",
        "metastore.thrift.uris": "",
        # Without the slash: "Can not create a Path from an empty string".
        "metastore.warehouse.dir": "s3://warehouse/",
        "metastore.expression.proxy": f"{package}.DefaultPartitionExpressionProxy",
        "metastore.server.min.threads": "4",
        # A client killed while it holds a lock would block its table for ten minutes; with
        # these the lock is gone in about 20 seconds.
        "metastore.task.threads.always": (
            f"{package}.events.EventCleanerTask,{package}.txn.AcidHouseKeeperService"
        ),
        "metastore.txn.timeout": "20s",
        "metastore.timedout.txn.reaper.start": "1s",
        "metastore.timedout.txn.reaper.interval": "5s",
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.endpoint": f"http://{layout.endpoint('s3')}",
        "fs.s3a.endpoint.region": S3_REGION,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": S3_KEY,
        "fs.s3a.secret.key": S3_SECRET,
    }


def _command(layout: PlatformLayout) -> list[str]:
    server = "org.apache.hadoop.hive.metastore.HiveMetaStore"
    return [*_java(layout), server, "-p", str(layout.ports["metastore"])]


def _java(layout: PlatformLayout) -> list[str]:
    (home,) = layout.unpacked("metastore").iterdir()
    hadoop = sorted(pyspark_jars().glob("hadoop-client-*.jar"))
    jars = [jar for jar in layout.jars("metastore", "s3a") if jar.suffix == ".jar"]
    classpath = [layout.data("metastore") / "conf", *sorted((home / "lib").glob("*.jar"))]
    derby_log = f"-Dderby.stream.error.file={layout.log('derby')}"
    options = ["-Xms32m", "-Xmx256m", *SMALL_JVM, *_OPENS, derby_log]
    return [layout.java, *options, "-cp", ":".join(map(str, [*classpath, *hadoop, *jars]))]


def _variables(layout: PlatformLayout) -> dict[str, str]:
    (home,) = layout.unpacked("metastore").iterdir()
    return {"METASTORE_HOME": str(home)}


def _probe(layout: PlatformLayout) -> None:
    """Ask for the names of all databases: this reads from Derby."""
    name = b"get_all_databases"
    call = struct.pack(">Ii", _CALL, len(name)) + name + struct.pack(">ib", 1, 0)
    with socket.create_connection((HOST, layout.ports["metastore"]), timeout=5) as connection:
        connection.sendall(call)
        with connection.makefile("rb") as answer:
            (kind,) = struct.unpack(">I", answer.read(4))
    if kind != _REPLY:
        raise ConnectionError("the metastore answered with an error")


def _diagnose(layout: PlatformLayout, log: str) -> HeadwaterError | None:
    """Tell a database that cannot be read from one that another process still holds."""
    if not re.search(r"Failed to start database|Version information not found", log):
        return None
    derby = layout.log("derby")
    told = derby.read_text(errors="replace") if derby.exists() else ""
    if "ERROR XSDB6" in log + told:
        return None
    error = re.search(r"ERROR (?!XJ040)\w{5}: .*", told)
    reason = error[0] if error else "it has no schema, or Derby could not start it"
    return MetastoreCorrupt(str(layout.data("metastore") / "derby"), reason[:160])


METASTORE = Service(
    name="metastore",
    title="Hive Metastore",
    port=9083,
    scheme="thrift://",
    sets=("metastore", "s3a"),
    needs=("s3",),
    prepare=_prepare,
    command=_command,
    variables=_variables,
    probe=_probe,
    diagnose=_diagnose,
)
