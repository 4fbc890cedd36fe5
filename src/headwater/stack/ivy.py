"""Ivy, the resolver inside pyspark: how files of a Maven repository reach this machine."""

import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

import msgspec

from headwater.errors import StackExtraMissing
from headwater.stack import trust
from headwater.stack.process import tied

# The resolver's own default root is the public repository: no host name is needed here. Without
# descriptors and their checksums nothing but the files themselves is asked for.
_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="public"/>
  <property name="ivy.checksums" value=""/>
  <caches artifactPattern="[organisation]/[module]/[artifact]-[revision](-[classifier]).[ext]"/>
  <resolvers>
    <ibiblio name="public" m2compatible="true" usepoms={poms} useMavenMetadata="false"/>
  </resolvers>
</ivysettings>
"""

_MODULE = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="headwater" module="stack"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
    {tail}
  </dependencies>
</ivy-module>
"""


class Wanted(msgspec.Struct, frozen=True):
    """One artifact to ask Ivy for."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    type: str = "jar"
    transitive: bool = False


def pyspark_jars() -> Path:
    """The folder with the jars of the installed pyspark.

    Raises:
        StackExtraMissing: pyspark is not installed.

    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise StackExtraMissing("pyspark")
    return Path(spec.origin).parent / "jars"


def start(
    java: Path,
    work: Path,
    wanted: Iterable[Wanted],
    *,
    pattern: str,
    settings: Path | None = None,
) -> subprocess.Popen[str]:
    """Start an Ivy that brings the wanted artifacts under `work`, laid out by `pattern`.

    Its own cache lies in `work/ivy`, so an Ivy that was interrupted goes on from there.
    """
    work.mkdir(parents=True, exist_ok=True)
    wanted = tuple(wanted)
    transitive = any(one.transitive for one in wanted)
    if settings is None:
        settings = work / "ivysettings.xml"
        settings.write_text(_SETTINGS.format(poms='"true"' if transitive else '"false"'))
    module = work / "ivy.xml"
    # Two versions of one artifact may be wanted by two services; only a resolution that follows
    # descriptors has to choose one.
    tail = "" if transitive else '<conflict manager="all"/>'
    module.write_text(
        _MODULE.format(dependencies="\n".join(_dependency(one) for one in wanted), tail=tail)
    )
    (ivy,) = pyspark_jars().glob("ivy-*.jar")
    command = [
        java,
        *trust.options(java, work),
        "-cp",
        ivy,
        "org.apache.ivy.Main",
        "-settings",
        settings,
        "-ivy",
        module,
    ]
    command += ["-cache", work / "ivy", "-retrieve", work / pattern]
    return subprocess.Popen(
        tied([str(part) for part in command]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _dependency(one: Wanted) -> str:
    where = (
        f"org={quoteattr(one.group)} name={quoteattr(one.artifact)} rev={quoteattr(one.version)}"
    )
    if one.transitive:
        return f'    <dependency {where} conf="default->default"/>'
    classifier = f" m:classifier={quoteattr(one.classifier)}" if one.classifier else ""
    kind = quoteattr(one.type)
    return (
        f'    <dependency {where} transitive="false" conf="default->default">'
        f"<artifact name={quoteattr(one.artifact)} type={kind} ext={kind}{classifier}/>"
        f"</dependency>"
    )
