"""Masks what a text assigns to the name of a secret: SQL, code, configurations, logs, prose.

A name is found first, and what follows it is looked at only where the name is that of a secret.
Every pattern begins at the start of a word and takes it whole, so that time grows with the length
of the text and no faster.
"""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import MASK, Noted
from headwater.openlineage.masking.values import (
    Value,
    find_quoted,
    find_value,
    is_code,
    is_empty,
    is_identifier,
    is_prose,
    is_small_number,
)

Sensitive = Callable[[str], bool]

_NAME = r"(?<![\w.$-])(-{0,2}[A-Za-z_$][\w.$-]*+)"
_TYPED = (
    r":\s{0,5}(?:str|string|String|bytes|SecretStr|Any|any|Optional\[str\]|str \| None)\s{0,5}="
)
_AFTER = re.compile(
    rf"""{_NAME}(?:
        \\{{0,7}}["'`]?\]?\s*+(?P<assigned>{_TYPED}|=>|->|:=|={{1,3}}|!=|<>|:)\s*+
      | \\{{0,7}}["'`]?\s++(?P<beside>(?=[nN]?\\{{0,7}}["']))
      | \s++(?P<compared>(?i:(?:(?:not\s{{1,5}})?(?:[ir]?like|in)|is|was|to)\s*+\(?\s*+))(?=["'])
      | (?P<called>\(\s*+)(?=["'])
    )""",
    re.VERBOSE,
)
_FLAG = re.compile(r"(?<![\w-])--([A-Za-z][\w.-]*+)\s++(?=[^\s\"'-])")
_PAIR = re.compile(r"\(\s*+\\{0,7}([\"'])([A-Za-z_$][\w.$ -]*+)\\{0,7}\1\s*+,\s*+")
_BEFORE_PAIR = re.compile(r"([\w.]{1,60})\s{0,2}\Z|([\[(,])\s{0,20}\Z")
_CLOSED = re.compile(r"\\{0,7}[\"']\s*+\)")
_SETTERS = frozenset({
    "set", "put", "option", "config", "conf", "setproperty", "setconf", "property", "header",
    "addheader", "setheader", "setifmissing", "setifunset", "setdefault", "sethadoopconf", "hset",
    "setstring", "setenv", "putenv", "putifabsent", "add", "withproperty", "withoption",
})  # fmt: skip
_COLUMN_FUNCTIONS = frozenset({
    "select", "selectexpr", "drop", "groupby", "orderby", "sort", "sortby", "partitionby",
    "dropduplicates", "drop_duplicates", "withcolumnrenamed", "with_column_renamed", "coalesce",
    "concat", "concat_ws", "struct", "array", "todf", "cube", "rollup", "repartition", "join",
    "bucketby", "distinct", "agg", "col", "cols", "in", "isin", "renamed", "nvl", "ifnull",
    "greatest", "least", "create_map", "sum", "max", "min", "count", "first", "last",
})  # fmt: skip
_ELEMENT = re.compile(r"<([A-Za-z_][\w.:-]*+)(?:\s[^<>]{0,200})?>([^<>]++)</")
_PROPERTY = re.compile(r"<name>\s*+([^<>\s]++)\s*+</name>\s*+<value>([^<>]++)</value>")
_IDENTIFIED = re.compile(
    r"(?i:\b(?:identified\s{1,5}(?:with\s{1,5}[\"'`]?\w{1,64}[\"'`]?\s{1,5})?(?:by|as)\s{1,5}"
    r"(?:(?:password|values|hash)\s{1,5})?(?=[\"'])"
    r"|(?:create|alter)\s{1,5}(?:user|role)\s{1,5}\S{1,130}\s{1,5}identified\s{1,5}by\s{1,5}"
    r"(?!(?:values|password)\s)(?=\S)"
    r"|set\s{1,5}password\s{1,5}for\s{1,5}\S{1,130}\s{0,5}=\s{0,5}(?=[\"'])))"
)
_KEYED = re.compile(
    r"(?i:\b((?:aes|pgp_sym|pgp_pub)_(?:en|de)crypt\s{0,3}\([^(),'\"]{1,200},\s{0,5}"
    r"|(?:en|de)cryptbypassphrase\s{0,3}\(\s{0,5}))(?=[\"'])"
)
_SPOKEN = re.compile(
    r"(?i:\b(login\s{1,5}\S{1,100}\s{1,5}password\s{1,5}"
    r"|sshpass\s{1,5}-p\s{0,5}"
    r"|(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:[^\s|;]{1,80}\s{1,3}){0,8}?-p"
    r"|curl\s(?:[^\s|;]{1,200}\s{1,3}){0,12}?(?:-u|--user)[\s=]{1,3}[^\s:'\"]{1,64}:))(?=[^\s])"
)
_REFUSED = re.compile(r"(?i:\binvalid value )(\S++)(?i: for configuration )([\w.$-]++)")
_SIGN = re.compile(r"[=:\"'<(]")


def mask_assignments(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """A text without the values that it gives to sensitive names."""
    lowered = text.lower()
    if _SIGN.search(text):
        text = _mask_names(text, sensitive, noted)
    if "--" in text:
        text = _mask_flags(text, sensitive, noted)
    if "(" in text and "," in text:
        text = _mask_pairs(text, sensitive, noted)
    if "</" in text:
        text = _mask_elements(text, sensitive, noted)
    for hint, pattern in (
        ("identified", _IDENTIFIED),
        ("set password", _IDENTIFIED),
        ("crypt", _KEYED),
    ):
        if hint in lowered:
            text = _mask_after(text, pattern, noted)
    if any(word in lowered for word in ("login", "sshpass", "mysql", "mariadb", "curl")):
        text = _mask_after(text, _SPOKEN, noted)
    if "for configuration" in lowered:
        text = _REFUSED.sub(lambda found: _refused(found, sensitive, noted), text)
    return text


def _mask_names(text: str, sensitive: Sensitive, noted: Noted) -> str:
    done, parts = 0, []
    found = _AFTER.search(text)
    while found is not None:
        at = found.end()
        if sensitive(found[1].lstrip("-")):
            value = _value_of(text, found, noted)
            if value is not None:
                parts += [text[done : value.start], MASK]
                done = at = max(value.end, at)
        found = _AFTER.search(text, at)
    return "".join([*parts, text[done:]]) if parts else text


def _value_of(text: str, found: re.Match[str], noted: Noted) -> Value | None:
    """What is to be masked after a sensitive name, if anything."""
    sign, name, at = found["assigned"], found[1].lower(), found.end()
    if found["called"] is not None and not name.endswith("password"):
        return None
    if name == "token" and _PARSED.search(text[max(0, found.start() - 20) : found.start()]):
        return None
    if name.endswith("authorization") and _SCHEME.match(text, at):
        at = _SCHEME.match(text, at).end()  # type: ignore[union-attr]
        value = find_value(text, at)
    else:
        value = find_quoted(text, at)
        if value is not None:
            if is_empty(text[value.start : value.end]) or is_identifier(text, value):
                return None
        elif sign is None or sign in ("==", "===", "!=", "<>") or _is_bare_word(text, found):
            return None
        else:
            value = find_value(text, at)
    if value is None:
        return None
    noted("assignment")
    return _with_scheme(text, value) if name.endswith("authorization") else value


def _is_bare_word(text: str, found: re.Match[str]) -> bool:
    """Whether what follows a name without quotes is no secret: code, a count, prose."""
    name, at = found[1].lower(), found.end()
    if is_code(text, found.start(1), at):
        return True
    if ("tokens" in name or name.endswith(("key", "pass"))) and is_small_number(text, at):
        return True
    if found[1] == "PWD" and text.startswith("/", at):
        return True
    before = text[max(0, found.start() - 100) : found.start()]
    if found["assigned"] == ":":
        is_quoted = before[-1:] in ("'", '"')
        if _URN.search(before) or (is_quoted and _is_variable(text, name, at)):
            return True
    is_told = found["assigned"] != "=" and "phrase" not in name
    return is_told and is_prose(text, at)


def _is_variable(text: str, name: str, at: int) -> bool:
    """Whether a variable of the same name follows: `{"token": token}`."""
    return (
        text[at : at + len(name)].lower() == name
        and not text[at + len(name) : at + len(name) + 1].isalnum()
    )


_PARSED = re.compile(
    r"(?i:\b(?:unexpected|illegal|near|unknown|extraneous|mismatched|at)\s{1,3})\Z"
)
_URN = re.compile(r"\b[ua]rn:[\w:./-]*\Z")
_SCHEME = re.compile(r"(?i:(?:bearer|basic|digest|negotiate|token|apikey|aws4-\S{1,20})\s{1,5})")


def _with_scheme(text: str, value: Value) -> Value:
    """The value of an `Authorization` header, which is two words; the scheme is kept."""
    scheme = _SCHEME.match(text, value.start)
    if scheme is None:
        return value
    if value.is_quoted:
        return Value(scheme.end(), max(value.end, scheme.end()), True)
    rest = find_value(text, scheme.end())
    return Value(scheme.end(), rest.end, False) if rest is not None else value


def _mask_pairs(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """`option("password", "x")`, and the same as a tuple in a list."""
    done, parts = 0, []
    for found in _PAIR.finditer(text):
        if found.start() < done or not sensitive(found[2]):
            continue
        value = find_quoted(text, found.end())
        if value is None or is_empty(text[value.start : value.end]):
            continue
        if _sets(text, found.start(), value):
            noted("assignment")
            parts += [text[done : value.start], MASK]
            done = value.end
    return "".join([*parts, text[done:]]) if parts else text


def _sets(text: str, at: int, value: Value) -> bool:
    """Whether two texts in brackets are a name and its value, by what stands before them."""
    before = _BEFORE_PAIR.search(text[max(0, at - 80) : at])
    function = before[1].lower() if before and before[1] else None
    if function is None:
        return before is not None and _CLOSED.match(text, value.end) is not None
    last = function.rpartition(".")[2]
    if last in _SETTERS:
        return True
    if last in _COLUMN_FUNCTIONS or function.endswith("secrets.get"):
        return False
    return _CLOSED.match(text, value.end) is not None


def _mask_elements(text: str, sensitive: Sensitive, noted: Noted) -> str:
    def replaced(found: re.Match[str]) -> str:
        if not sensitive(found[1]) or is_empty(found[2]):
            return found[0]
        noted("assignment")
        start, end = found.span(2)
        return found[0][: start - found.start()] + MASK + found[0][end - found.start() :]

    return _ELEMENT.sub(replaced, _PROPERTY.sub(replaced, text))


def _mask_after(text: str, pattern: re.Pattern[str], noted: Noted) -> str:
    """A text whose values after a pattern are masked, whatever they are."""
    done, parts = 0, []
    for found in pattern.finditer(text):
        value = find_value(text, found.end()) if found.start() >= done else None
        if value is None or is_empty(text[value.start : value.end]):
            continue
        noted("assignment")
        parts += [text[done : value.start], MASK]
        done = value.end
    return "".join([*parts, text[done:]]) if parts else text


def _mask_flags(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """`--password hunter2`."""
    done, parts = 0, []
    for found in _FLAG.finditer(text):
        at = found.end()
        if at < done or not sensitive(found[1]) or is_code(text, at, at) or is_prose(text, at):
            continue
        value = find_value(text, at)
        if value is not None:
            noted("assignment")
            parts += [text[done : value.start], MASK]
            done = value.end
    return "".join([*parts, text[done:]]) if parts else text


def _refused(found: re.Match[str], sensitive: Sensitive, noted: Noted) -> str:
    if not sensitive(found[2]) or is_empty(found[1]):
        return found[0]
    noted("assignment")
    return found[0].replace(found[1], MASK, 1)
