"""Masks secrets that sentences tell: "the password for bob is hunter2".

Most words after "password" are no secrets. Only what has letters and digits, or signs, is taken for
one, and not what else has them: names of algorithms and types, versions, times, paths and columns.
"""

import re

from headwater.openlineage.masking.addresses import MASK, Noted

_NAME = r"(?:pass(?:word|wd|phrase|code)|secret|token|(?:api|access|private|account)[ -]?key)"
_WHOSE = r"(?:\s{1,3}(?:for|of)(?:\s{1,3}(?:the|user))?\s{1,3}[^\s\"'=:]{1,64})"
_IS = (
    r"\s{1,3}(?:(?:is|was)(?:\s{1,3}now)?"
    r"|(?:(?:is|was|has been)\s{1,3})?(?:changed|set|reset)?\s{0,3}to)"
)
_SAID = re.compile(
    rf"(?i:(?<![\w.$-])(?P<before>(?P<name>{_NAME})(?:{_WHOSE}\s?:|{_WHOSE}?{_IS})\s{{1,3}}"
    rf"|(?:with|using|use)(?:\s{{1,3}}the)?\s{{1,3}}(?P<given>pass(?:word|wd|phrase|code))\s{{1,3}}))"
    r"(?P<value>[^\s\"'`<>(){}\[\],;=|]{5,200})"
)
_WORDS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "key")
_PASSWORD, _TOKEN = 5, 8  # letters of the shortest that is taken for one
_OTHER = re.compile(
    r"(?i:sha-?\d|md\d|base\d|utf-?\d|argon2|pbkdf2|bcrypt|scrypt|x\.?509|oauth|http|ipv\d|ascii|aes|"
    r"rsa|pkcs|tls|ssl|p12|(?:u?int(?:eger)?|float|decimal|n?(?:var)?char|bit|string)_?\d{1,3}\Z)"
    r"|[vV]?\d{1,9}[.:-]\d|(?:\d{1,9}[A-Za-z]{1,12}){1,4}\Z|[A-Za-z_]\w*\.[A-Za-z_]|[/$%@~\\]|\w{1,20}://"
)


def mask_told(text: str, lowered: str, noted: Noted) -> str:
    """A text without the secrets that its sentences tell."""
    if not any(word in lowered for word in _WORDS):
        return text
    return _SAID.sub(lambda found: _told(found, noted), text)


def _told(found: re.Match[str], noted: Noted) -> str:
    value = found["value"].rstrip(".:!?")
    is_password = (found["given"] or found["name"]).lower().startswith("pass")
    if not is_secret_word(value, _PASSWORD if is_password else _TOKEN):
        return found[0]
    noted("assignment")
    return f"{found['before']}{MASK}{found['value'][len(value) :]}"


def is_secret_word(value: str, least: int) -> bool:
    """Whether a word is one that only a secret is: letters with digits or signs, of no kind."""
    has_both = re.search("[A-Za-z]", value) and re.search(r"[0-9]|[!?#^&*+](?=.)", value)
    return len(value) >= least and has_both is not None and not _OTHER.match(value)
