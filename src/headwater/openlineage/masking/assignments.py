"""Masks what a text assigns to the name of a secret: SQL, code, configurations, logs, prose.

A name is found first, and what follows it is looked at only where the name is that of a secret.
Every pattern begins at the start of a word and takes it whole, so that time grows with the length
of the text and no faster.
"""

import re
from collections.abc import Callable

from headwater.openlineage.masking.addresses import MASK, Noted
from headwater.openlineage.masking.cuts import Cuts
from headwater.openlineage.masking.prose import mask_told
from headwater.openlineage.masking.values import (
    Value,
    after_tags,
    find_quoted,
    find_scalar,
    find_value,
    is_code,
    is_empty,
    is_identifier,
    is_prose,
    is_small_number,
)

Sensitive = Callable[[str], bool]

_NAME = r"(?:(?<![\w.$-])|(?<=%[0-9A-Fa-f]{2}))(-{0,2}[A-Za-z_$][\w.$-]*+)"
_TYPED = (
    r":\s{0,5}(?:str|string|String|bytes|SecretStr|Any|any|Optional\[str\]|str \| None)\s{0,5}="
)
# Space in SQL, where comments may stand in it.
_COMMENT = r"/\*(?:[^*]|\*(?!/)){0,300}\*/|--[^\n]{0,200}\n"
_GAP = rf"\s*+(?:(?:{_COMMENT})\s{{0,80}}){{0,3}}"
_SPACE = rf"(?:\s|{_COMMENT}){{1,9}}"
_LITERAL = r"(?:[nNeExXbB]|[qQ](?=')|[uU]&|_\w{2,12})?\\{0,7}[\"']|\$\w{0,63}\$"
# Functions of SQL to which passwords are given as they are.
_MADE = (
    r"(?i:concat(?:_ws)?|md5|sha\d{0,3}|crypt|hashbytes|(?:from_|to_|un)?base64|decode|encode|"
    r"(?:un)?hex|(?:old_)?password|upper|lower|trim)\s{0,3}\(\s{0,5}(?=[\"'])"
)
_COMPARED = (
    r"(?i:(?:not\s{1,5})?(?:[ir]?like|in|similar\s{1,5}to|between)"
    r"|is(?:\s{1,5}distinct\s{1,5}from)?|was|to)"
)
_AFTER = re.compile(
    rf"""{_NAME}(?:
        (?:\\{{0,7}}["'`]|%(?:25){{0,3}}2[27])?\]?\s*+(?P<assigned>
            {_TYPED}|=>|->|:=|={{1,3}}|!=|<>|:|%(?:25){{0,3}}3[dDaA](?:%(?:25){{0,3}}2[27])?
        ){_GAP}(?P<made>{_MADE})?
      | \\{{0,7}}["'`]?(?=\s|/\*){_GAP}(?P<beside>(?={_LITERAL}))
      | \s++(?P<compared>{_COMPARED}\s*+\(?\s*+)(?=["'])
      | (?P<called>\(\s*+)(?=["'])
    )""",
    re.VERBOSE,
)
_FLAG = re.compile(r"(?<![\w-])-{1,2}([A-Za-z][\w.-]*+)\s++(?=[^\s\"'-])")
_PAIR = re.compile(
    r"\(\s*+\\{0,7}([\"'])([A-Za-z_$][\w.$ -]*+)\\{0,7}\1\s*+,\s*+(?:value\s{0,3}=\s{0,3})?"
)
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
_BY = rf"identified{_SPACE}by{_SPACE}"
_IDENTIFIED = re.compile(
    rf"(?i:\b(?:identified{_SPACE}(?:with{_SPACE}[\"'`]?\w{{1,64}}[\"'`]?{_SPACE})?(?:by|as){_SPACE}"
    rf"(?:(?:password|values|hash){_SPACE})?(?=[\"'])"
    rf"|(?:create|alter){_SPACE}(?:user|role){_SPACE}\S{{1,130}}{_SPACE}{_BY}"
    r"(?!(?:values|password)\s)(?=\S)"
    rf"|link{_SPACE}\S{{1,130}}{_SPACE}connect{_SPACE}to{_SPACE}\S{{1,130}}{_SPACE}{_BY}(?=\S)"
    rf"|grant{_SPACE}\w{{1,64}}{_SPACE}to{_SPACE}\S{{1,130}}{_SPACE}{_BY}(?=\S)"
    rf"|set{_SPACE}password{_SPACE}for{_SPACE}\S{{1,130}}\s{{0,5}}=\s{{0,5}}"
    r"(?:(?:old_)?password\s{0,3}\(\s{0,5})?(?=[\"'])))"
)
_REPLACED = re.compile(rf"[\"']?{_SPACE}(?i:replace){_SPACE}(?=\S)")
_KEYED = re.compile(
    r"(?i:\b((?:aes|pgp_sym|pgp_pub)_(?:en|de)crypt\s{0,3}\([^(),'\"]{1,200},\s{0,5}"
    r"|(?:en|de)cryptbypassphrase\s{0,3}\(\s{0,5}))(?=[\"'])"
)
_SPOKEN = re.compile(
    r"(?i:\b(login\s{1,5}\S{1,100}\s{1,5}password\s{1,5}"
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
_SIGN = re.compile(r"[=:\"'<(%$]")
# The value of a percent-encoded assignment, by how often it was encoded: up to the next one.
_ENCODED = tuple(
    re.compile(rf"(?:[^\s&'\"<>%]|%(?!{'25' * depth}(?:26|3[bB]|23|0[aAdD]|2[02]))){{1,8192}}")
    for depth in range(4)
)


def mask_assignments(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """A text without the values that it gives to sensitive names."""
    lowered = text.lower()
    if _SIGN.search(text):
        text = _mask_names(text, sensitive, noted)
    if "-" in text:
        text = _mask_flags(text, sensitive, noted)
    if "(" in text and "," in text:
        text = _mask_pairs(text, sensitive, noted)
    for hint, pattern in (
        ("identified", _IDENTIFIED),
        ("set password", _IDENTIFIED),
        ("crypt", _KEYED),
    ):
        if hint in lowered:
            text = _mask_after(text, pattern, noted)
    if any(word in lowered for word in _COMMANDS):
        text = _mask_after(text, _SPOKEN, noted)
    text = mask_told(text, lowered, noted)
    if "for configuration" in lowered:
        text = _REFUSED.sub(lambda found: _refused(found, sensitive, noted), text)
    return text


def _mask_names(text: str, sensitive: Sensitive, noted: Noted) -> str:
    cuts = Cuts(text, noted)
    found = _AFTER.search(text)
    while found is not None:
        at = found.end()
        if sensitive(found[1].lstrip("-")):
            is_list = (found["compared"] or found["made"] or "").rstrip().endswith("(")
            if cuts.mask(_value_of(text, found), is_list=is_list):
                at = max(cuts.done, at)
        found = _AFTER.search(text, at)
    return cuts.result()


def _value_of(text: str, found: re.Match[str]) -> Value | None:
    """What is to be masked after a sensitive name, if anything."""
    sign, name, at = found["assigned"], found[1].lower(), found.end()
    if found["called"] is not None and not name.endswith("password"):
        return None
    if name == "token" and _PARSED.search(text[max(0, found.start() - 20) : found.start()]):
        return None
    if name.endswith("authorization") and _SCHEME.match(text, at):
        at = _SCHEME.match(text, at).end()  # type: ignore[union-attr]
        value = find_value(text, at)
    elif sign == ":" and (scalar := find_scalar(text, at)) is not None:
        return scalar
    else:
        at = after_tags(text, at) if sign == ":" else at
        value = find_quoted(text, at)
        if value is not None:
            if is_empty(text[value.start : value.end]) or is_identifier(text, value):
                return None
        elif sign is None or sign in ("==", "===", "!=", "<>") or _is_bare_word(text, found):
            return None
        elif sign.startswith("%"):
            encoded = _ENCODED[sign.count("25")].match(text, at)
            value = Value(at, encoded.end(), False) if encoded is not None else None
        else:
            value = find_value(text, at)
    if value is None:
        return None
    return _with_scheme(text, value) if name.endswith("authorization") else value


def _is_bare_word(text: str, found: re.Match[str]) -> bool:
    """Whether what follows a name without quotes is no secret: code, a count, prose."""
    name, at = found[1].lower(), found.end()
    if is_code(text, found.start(1), at):
        return True
    counts = "tokens" in name or name.endswith(("key", "pass", "_id"))
    if counts and is_small_number(text, at):
        return True
    if found[1] == "PWD" and text.startswith("/", at):
        return True
    before = text[max(0, found.start() - 100) : found.start()]
    if found["assigned"] == ":":
        is_quoted = before[-1:] in ("'", '"')
        if _NESTED.match(text, at) and "\n" in text[found.end("assigned") : at]:
            return True
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
_NESTED = re.compile(r"[\w.-]{1,100}:(?:\s|\Z)")
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
    cuts = Cuts(text, noted)
    for found in _PAIR.finditer(text):
        if found.start() >= cuts.done and sensitive(found[2]):
            value = find_quoted(text, found.end())
            if value is not None and _sets(text, found.start(), value):
                cuts.mask(value)
    return cuts.result()


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


def _mask_after(text: str, pattern: re.Pattern[str], noted: Noted) -> str:
    """A text whose values after a pattern are masked, whatever they are."""
    cuts = Cuts(text, noted)
    for found in pattern.finditer(text):
        if found.start() < cuts.done or not cuts.mask(find_value(text, found.end())):
            continue
        replaced = _REPLACED.match(text, cuts.done) if pattern is _IDENTIFIED else None
        if replaced is not None:
            cuts.mask(find_value(text, replaced.end()))
    return cuts.result()


def _mask_flags(text: str, sensitive: Sensitive, noted: Noted) -> str:
    """`--password hunter2`, and `-password hunter2` as programs in Java have it."""
    cuts = Cuts(text, noted)
    for found in _FLAG.finditer(text):
        at = found.end()
        if at < cuts.done or not sensitive(found[1]) or is_code(text, at, at) or is_prose(text, at):
            continue
        cuts.mask(find_value(text, at))
    return cuts.result()


def _refused(found: re.Match[str], sensitive: Sensitive, noted: Noted) -> str:
    if not sensitive(found[2]) or is_empty(found[1]):
        return found[0]
    noted("assignment")
    return found[0].replace(found[1], MASK, 1)
