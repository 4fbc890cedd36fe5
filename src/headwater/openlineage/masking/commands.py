"""Masks secrets that commands and messages hold: `--password x`, `mysql -px`, refused settings."""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import MASK, Noted
from headwater.openlineage.masking.counts import is_count
from headwater.openlineage.masking.cuts import Cuts
from headwater.openlineage.masking.expressions import is_code, is_prose
from headwater.openlineage.masking.values import find_value, is_empty

Sensitive = Callable[[str], bool]

_FLAG = re.compile(r"(?<![0-9A-Za-z_\u00aa-\u052f-])-{1,2}([A-Za-z][\w.-]*+)\s++(?=[^\s\"'-])")
_SPOKEN = re.compile(
    r"(?i:(?a:\b)(login\s{1,5}\S{1,100}\s{1,5}password\s{1,5}"
    r"|sshpass\s{1,5}-p\s{0,5}"
    r"|(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-p"
    r"|(?:docker|podman|helm|az)\s(?:registry\s)?login\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-p\s{1,3}"
    r"|(?:sqlcmd|bcp)\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-P\s{0,3}"
    r"|(?:mongo|mongosh|mongodump|mongorestore|beeline)\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-p\s{1,3}"
    r"|redis-cli\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-a\s{1,3}"
    r"|aws\s{1,3}configure\s{1,3}set\s{1,3}[\w.-]{0,40}(?:secret|token)\w{0,20}\s{1,3}"
    r"|databricks\s(?:[^\s|;]{1,80}\s{1,3}){0,12}?--string-value[\s=]{1,3}"
    r"|cqlsh\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-p\s{1,3}"
    r"|ldap(?:search|modify|add|delete)\s(?:[^\s|;]{1,80}\s{1,3}){0,12}?-w\s{1,3}"
    r"|keytool\s(?:[^\s|;]{1,80}\s{1,3}){0,20}?-[a-z]{3,9}pass\s{1,3}"
    r"|curl\s(?:[^\s|;]{1,200}\s{1,3}){0,12}?"
    r"(?:--(?:proxy-)?user[\s=]{1,3}|-[a-z]{0,6}u[\s=]{0,3})[\"']?[^\s:'\"]{1,64}:))(?=[^\s])"
)
_COMMANDS = (
    "login", "sshpass", "mysql", "mariadb", "curl", "--string-value", "sqlcmd", "bcp", "mongo",
    "beeline", "redis-cli", "configure set", "docker", "podman", "cqlsh", "ldap", "keytool",
)  # fmt: skip
_REFUSED = re.compile(r"(?i:\binvalid value )(\S++)(?i: for configuration )([\w.$-]++)")


def mask_commands(text: str, lowered: str, sensitive: Sensitive, noted: Noted) -> str:
    """A text without the secrets of the commands in it."""
    if "-" in text:
        text = _mask_flags(text, sensitive, noted)
    if any(word in lowered for word in _COMMANDS):
        cuts = Cuts(text, noted)
        for found in _SPOKEN.finditer(text):
            cuts.mask(find_value(text, found.end()))
        text = cuts.result()
    if "for configuration" in lowered:
        text = _REFUSED.sub(lambda found: _refused(found, sensitive, noted), text)
    return text


def _mask_flags(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """`--password hunter2`, and `-password hunter2` as programs in Java have it."""
    cuts = Cuts(text, noted)
    for found in _FLAG.finditer(text):
        at = found.end()
        if at < cuts.done or not sensitive(found[1]) or is_code(text, at, at) or is_prose(text, at):
            continue
        if not is_count(text, found[1], found.start(), at):
            cuts.mask(find_value(text, at))
    return cuts.result()


def _refused(found: re.Match[str], sensitive: Sensitive, noted: Noted) -> str:
    if not sensitive(found[2]) or is_empty(found[1]):
        return found[0]
    noted("assignment")
    return found[0].replace(found[1], MASK, 1)
