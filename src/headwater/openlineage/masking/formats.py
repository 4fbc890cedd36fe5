"""Masks headers, cookies and signatures of addresses, which are secrets by their own form."""

import base64
import binascii
import re

from headwater.openlineage.masking.addresses import MASK, Noted
from headwater.openlineage.masking.alternatives import join_words
from headwater.openlineage.masking.blocks import BLOCK_HINTS, mask_blocks
from headwater.openlineage.masking.tokens import mask_tokens

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
    r"(=|%3D)(?!(?:None|null|True|False|self)\b)([^&\s\"'<>]++)",
    re.IGNORECASE | re.ASCII,
)
_COOKIE = re.compile(
    r"(?i:\b((?:set-)?cookie\\{0,7}[\"']?\s{0,5}:\s{0,5}))"
    r"(?=[^\s\"'=;,()]{1,200}=)([^\"'\r\n]++)"
)
_SIGNATURE_HINTS = (
    "sig=", "sig%3d", "signature=", "signature%3d", "credential=", "credential%3d", "accessid=",
)  # fmt: skip
_HINT = re.compile(join_words(("bearer", "basic", "cookie", *_SIGNATURE_HINTS, *BLOCK_HINTS)))


def mask_formats(text: str, noted: Noted) -> str:
    """A text without what is a secret by its form."""
    lowered = text.lower()
    if _HINT.search(lowered):
        text = _mask_hinted(text, set(_HINT.findall(lowered)), noted)
    return mask_tokens(text, noted)


def _mask_hinted(text: str, found: set[str], noted: Noted) -> str:
    """A text without the secrets whose hints were found in it."""
    if not found.isdisjoint(BLOCK_HINTS):
        text = mask_blocks(text, noted)
    if not found.isdisjoint(("bearer", "basic")):
        text = _SCHEME.sub(lambda found: _credential(found, noted), text)
    if "cookie" in found:
        text = _COOKIE.sub(lambda found: _kept(found, found[1], found[2], noted), text)
    if not found.isdisjoint(_SIGNATURE_HINTS):
        text = _SIGNED.sub(lambda found: _signed(found, noted), text)
    return text


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
