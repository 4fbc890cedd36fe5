"""Recognises secrets by their own form: key blocks, tokens of known services, headers."""

import base64
import binascii
import re
from typing import NamedTuple

from headwater.openlineage.masking.addresses import MASK, Noted


class Format(NamedTuple):
    """A form of secret: the text must hold one of `hints` (in lower case) for it to be tried."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]


_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)",
    re.DOTALL,
)
_TOKENS = (
    # Letters and digits only where that is exact; case counts.
    (("AKIA", "ASIA"), r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{20,}+"),
    (("github_pat_",), r"\bgithub_pat_\w{20,}+"),
    (("glpat-",), r"(?<![\w-])glpat-[\w-]{16,}+"),
    (("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), r"(?<![\w-])xox[abprs]-[\w-]{10,}+"),
    (("sk_live_", "rk_live_", "sk_test_"), r"\b[sr]k_(?:live|test)_\w{10,}+"),
    (("sk-",), r"(?<![\w-])sk-(?:[a-z0-9]{2,8}-){0,2}[A-Za-z0-9_]{20,}[\w-]*+"),
    (("hf_",), r"\bhf_[A-Za-z0-9]{30,}+"),
    (("dckr_pat_",), r"\bdckr_pat_[\w-]{20,}+"),
    (("AIza",), r"(?<![\w-])AIza[\w-]{35}"),
    (("ya29.",), r"(?<![\w-])ya29\.[\w-]{20,}+"),
    (("eyJ",), r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?"),
    (("dapi",), r"\bdapi[0-9a-f]{32}(?:-\d)?\b"),
    (("hvs.",), r"(?<![\w-])hvs\.[\w-]{20,}+"),
    (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    (("pypi-",), r"(?<![\w-])pypi-[\w-]{50,}+"),
    (("SG.",), r"(?<![\w-])SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    (("hw_",), r"(?<![\w-])hw_[\w-]{43}\b"),
    (("hooks.slack.com",), r"(?<=hooks\.slack\.com/services/)[\w/]{8,}+"),
)
FORMATS = tuple(
    Format(tuple(hint.lower() for hint in hints), re.compile(pattern)) for hints, pattern in _TOKENS
)
# As they stand in a token: `asia` in a text is a continent.
EXACT_HINTS = tuple(hint for hints, _ in _TOKENS for hint in hints)
_SCHEME = re.compile(
    r"\b(bearer|basic)(\s{1,5}|%20)([A-Za-z0-9._~+/=-]{6,}+)", re.IGNORECASE | re.ASCII
)
_DIGIT, _INNER_CAPITAL = re.compile(r"\d"), re.compile(r"[a-z][A-Z]")
# Parameters of signed addresses: of Azure, S3, Google, CloudFront and others.
SIGNATURES = (
    "sig", "signature", "googleaccessid", "key-pair-id", "ossaccesskeyid",
    *(f"x-{owner}-{what}" for owner in ("amz", "goog", "oss", "obs") for what in (
        "signature", "credential", "security-token")),
)  # fmt: skip
# What changes in such an address whenever it is signed anew.
RENEWED = frozenset({
    "expires", "policy", "se", "st", "ske", "skt",
    *(f"x-{owner}-{what}" for owner in ("amz", "goog", "oss", "obs") for what in (
        "date", "expires")),
})  # fmt: skip
_SIGNED = re.compile(
    rf"(?:(?<![\w.-])|(?<=%[0-9A-Fa-f]{{2}}))({'|'.join(SIGNATURES)})"
    r"(=|%3D)([^&\s\"'<>]++)",
    re.IGNORECASE | re.ASCII,
)
_COOKIE = re.compile(r"(?i:\b((?:set-)?cookie\\{0,7}[\"']?\s{0,5}:\s{0,5}))([^\"'\r\n]++)")
_HINT = re.compile("|".join([
    "private key", "bearer", "basic", "cookie", "sig=", "sig%3d", "signature=", "signature%3d",
    "credential=", "credential%3d", "accessid=",
    *(re.escape(hint) for form in FORMATS for hint in form.hints),
]))  # fmt: skip


def mask_formats(text: str, noted: Noted) -> str:
    """A text without what is a secret by its form."""
    lowered = text.lower()
    if not _HINT.search(lowered):
        return text
    if "private key" in lowered:
        text = _BLOCK.sub(lambda _: _masked("key block", noted), text)
    if "bearer" in lowered or "basic" in lowered:
        text = _SCHEME.sub(lambda found: _credential(found, noted), text)
    if "cookie" in lowered:
        text = _COOKIE.sub(lambda found: _kept(found, found[1], found[2], noted), text)
    text = _SIGNED.sub(lambda found: _signed(found, noted), text)
    for hints, pattern in FORMATS:
        if any(hint in lowered for hint in hints):
            text = pattern.sub(lambda _: _masked("format", noted), text)
    return text


def _masked(rule: str, noted: Noted) -> str:
    noted(rule)
    return MASK


def _signed(found: re.Match[str], noted: Noted) -> str:
    name, sign, value = found.groups()
    secret, more, rest = (value, "", "") if sign == "=" else value.partition("%26")
    return _kept(found, f"{name}{sign}", secret, noted, more + rest)


def _kept(found: re.Match[str], before: str, secret: str, noted: Noted, rest: str = "") -> str:
    if secret.strip() == MASK:
        return found[0]
    noted("header" if "ookie" in before else "signature")
    return f"{before}{MASK}{rest}"


def _credential(found: re.Match[str], noted: Noted) -> str:
    """`Basic` and `Bearer` are also words of English: what follows must look like a credential."""
    scheme, space, secret = found.groups()
    looks = _is_basic(secret) if scheme.lower() == "basic" else _is_bearer(secret)
    if not looks:
        return found[0]
    noted("header")
    return f"{scheme}{space}{MASK}"


def _is_basic(secret: str) -> bool:
    if secret.endswith("="):
        return True
    if len(secret) >= 16 and _DIGIT.search(secret) and secret.isalnum():
        return True
    try:
        return b":" in base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        return False


def _is_bearer(secret: str) -> bool:
    return (
        bool(_DIGIT.search(secret) or _INNER_CAPITAL.search(secret) or secret.endswith("="))
        and secret.strip("./") != ""
    )
