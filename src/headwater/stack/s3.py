"""The object store: s3proxy over a folder."""

import urllib.error
import urllib.request

from headwater.stack.files import write_atomically
from headwater.stack.service import (
    BUCKETS,
    S3_KEY,
    S3_SECRET,
    SMALL_JVM,
    PlatformLayout,
    Service,
    Tool,
)

_PROPERTIES = """\
s3proxy.endpoint=http://{endpoint}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={key}
s3proxy.credential={secret}
jclouds.provider=filesystem-nio2
jclouds.identity=x
jclouds.credential=x
jclouds.filesystem.basedir={objects}
"""


def _prepare(layout: PlatformLayout, _run: Tool) -> None:
    objects = layout.data("s3") / "objects"
    for bucket in BUCKETS:
        # A bucket of this provider is a folder, and one that others may read is a public bucket.
        (objects / bucket).mkdir(parents=True, exist_ok=True)
        (objects / bucket).chmod(0o700)
    properties = _PROPERTIES.format(
        endpoint=layout.endpoint("s3"), key=S3_KEY, secret=S3_SECRET, objects=objects
    )
    write_atomically(layout.data("s3") / "s3proxy.conf", properties, mode=0o600)


def _command(layout: PlatformLayout) -> list[str]:
    (jar,) = layout.jars("s3")
    configuration = str(layout.data("s3") / "s3proxy.conf")
    options = [*SMALL_JVM, "-jar", str(jar), "--properties", configuration]
    return [layout.java, "-Xms32m", "-Xmx256m", *options]


def _probe(layout: PlatformLayout) -> None:
    """Ask without credentials: an object store refuses, in its own words."""
    try:
        urllib.request.urlopen(f"http://{layout.endpoint('s3')}/warehouse", timeout=5)
    except urllib.error.HTTPError as answer:
        with answer:
            if b"<Code>AccessDenied</Code>" in answer.read():
                return
    raise ConnectionError("the process that answers is not the object store")


S3 = Service(
    name="s3",
    title="Object store",
    port=9000,
    scheme="http://",
    sets=("s3",),
    prepare=_prepare,
    command=_command,
    probe=_probe,
)
