"""Finds credentials in addresses: URLs, JDBC's Oracle form and the DSNs of drivers."""

import re
from collections.abc import Callable

MASK = "******"
Noted = Callable[[str], object]

_URL = re.compile(r"://([^\s\"'<>`]+)")
_PORT = re.compile(r"\d{1,5}(?:[/?#;,]|$)")
# Digits before an @ are a password, unless more follows them or they belong to an IP address.
_PORT_AND_MORE = re.compile(r"\d{1,5}[;,]")
_PORT_OF_IP = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}")
_DIGEST = re.compile(r"@sha\d{3}:")  # of an image, behind its tag
_AUTHORITY_END = re.compile(r"[/?#]")
_PARTS = re.compile(r"(://)")
# What stands before the @ of these is a container, not a user.
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30})$")
# A user alone is no secret, but tokens are put there too. Names are made of a few words.
_WORD = r"(?:[a-z]{1,15}|[A-Z][a-z]{1,14}|[A-Z]{1,8})"
_PLAIN_USER = re.compile(
    rf"{_WORD}(?:(?:[._+-]|%40|@){_WORD}|[A-Z][a-z]{{1,14}}){{0,5}}[-_]?\d{{0,4}}"
)
_TOKEN_PREFIX = re.compile(
    r"gh[pousr]_|github_pat_|gl[a-z]{2,6}-|xox[a-z]-|xapp-|[sr]k[-_]|hf_|dckr_pat_|npm_|pypi-|hw_|hv[sbr]\.|"
    r"dapi\d|A[KS]IA|eyJ|AT[ABC]|GOCSPX-|whsec_|do[opr]_v1_|shp[a-z]{2}_"
)
_LONGEST_USER, _SHORTEST_WEB_TOKEN = 64, 8
_TOKEN_USER = re.compile(r"(?=.*\d)\S{12,}|\S{20,}")
_ORACLE = re.compile(r"(?i:(jdbc:oracle:\w{1,10}:))[^\s@\"'/]{1,200}/[^\s@\"']*+(@?)")
_SQLPLUS = re.compile(r"(?i:\b(sqlplus\s{1,5}(?:-\w{1,10}\s{1,5}){0,3}))([\w$#]{1,64})/([^\s@]++)")
# `://user:password@`, percent-encoded once or twice.
_SIGN = r"%(?:25)?"
_ENCODED = re.compile(
    rf"(?i:({_SIGN}3A(?:{_SIGN}2F){{2}})(?:(?!{_SIGN}(?:40|2F|3F|26|23))[^\s&\"'<>]){{1,300}}"
    rf"({_SIGN}40))"
)
_DRIVER = re.compile(r"(?<![^\s\"'/@(=])[^\s\"'/@:]{1,128}+:[^\s\"'/@]{1,512}+@(?=(?:tcp|unix)\()")


def mask_addresses(text: str, noted: Noted) -> str:
    """A text without the credentials of the addresses in it; `noted` is told of each."""
    if "@" in text:
        text = _URL.sub(lambda found: "://" + _url(found, noted), text)
        text = _ORACLE.sub(lambda found: _oracle(found, noted), text)
        text = _DRIVER.sub(lambda _: _replaced(f"{MASK}@", noted), text)
    if "%40" in text or "%2540" in text:
        text = _ENCODED.sub(lambda found: _encoded(found, noted), text)
    if "/" in text and "sqlplus" in text.lower():
        text = _SQLPLUS.sub(lambda found: _replaced(f"{found[1]}{MASK}", noted), text)
    return text


def _replaced(text: str, noted: Noted) -> str:
    noted("address")
    return text


def _oracle(found: re.Match[str], noted: Noted) -> str:
    return _replaced(f"{found[1]}{MASK}@", noted) if found[2] else found[0]


def _encoded(found: re.Match[str], noted: Noted) -> str:
    """An encoded address; a user without a password stays."""
    user = found[0][len(found[1]) : -len(found[2])]
    if not re.search(r"%(?:25)?3[aA]", user):
        return found[0]
    return _replaced(f"{found[1]}{MASK}{found[2]}", noted)


def _url(found: re.Match[str], noted: Noted) -> str:
    """One URL after its `://`; it may hold other URLs."""
    before = found.string[max(0, found.start() - 31) : found.start()]
    parts = found[1].split("://")
    for number, part in enumerate(parts):
        scheme = _SCHEME.search(before if number == 0 else parts[number - 1][-31:])
        parts[number] = _authority(part, scheme[1].lower() if scheme else "", noted)
    return "://".join(parts)


def _authority(part: str, scheme: str, noted: Noted) -> str:
    end = _AUTHORITY_END.search(part)
    authority = part[: end.start()] if end else part
    at = authority.rfind("@")
    if at < 0:
        at = _late_at(part)
    if at < 0:
        return part
    user, colon, password = part[:at].partition(":")
    if not colon and not _is_token(user, scheme):
        return part
    if user == MASK or not (user or password) or _is_port(part, at, password):
        return part
    noted("address")
    return f"{MASK}{part[at:]}"


def _is_port(part: str, at: int, password: str) -> bool:
    """Whether a port or a tag stands before an @, not a password."""
    if _PORT_AND_MORE.match(password) or _DIGEST.match(part, at):
        return True
    return _PORT_OF_IP.fullmatch(part, 0, at) is not None


def _is_token(user: str, scheme: str) -> bool:
    """Whether what stands before an @ without a password is a token, not the name of a user."""
    if scheme in _CONTAINERS or user in ("", "git", MASK):
        return False
    if _TOKEN_PREFIX.match(user):
        return True
    if len(user) <= _LONGEST_USER and _PLAIN_USER.fullmatch(user):
        return False
    if scheme in ("http", "https"):
        return len(user) >= _SHORTEST_WEB_TOKEN
    return _TOKEN_USER.fullmatch(user) is not None


def _late_at(part: str) -> int:
    """The @ of a password with a slash in it; -1 where the colon is that of a port."""
    user, colon, rest = part.partition(":")
    if not colon or _AUTHORITY_END.search(user) or user.startswith("[") or _PORT.match(rest):
        return -1
    return part.find("@")
