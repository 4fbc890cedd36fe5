"""Tells code from secrets: variables, calls, columns and placeholders that follow a name.

Looks at no more than a few hundred characters, because what it finds is not passed over.
"""

import re

from headwater.openlineage.masking.addresses import MASK
from headwater.openlineage.masking.keys import is_sensitive
from headwater.openlineage.masking.values import PLACEHOLDER, WORD, Value

_BOUND = re.compile(r"[:@]([A-Za-z_]\w{0,63})(?!\w)")
NOTHING = frozenset({
    "none", "null", "nil", "undefined", "true", "false", "yes", "no", "required", "optional",
    "hidden", "masked", "redacted", "empty", "unset", "missing", "invalid", "expired", "n/a",
    "str", "string", "text", "varchar", "char", "int", "integer", "bigint", "long", "bytes",
    "binary", "bool", "boolean", "double", "float", "decimal", "date", "timestamp", "uuid", "json",
    "array", "map", "struct", "object", "any", "number", "void", "secretstr", "optional[str]",
})  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*+\Z")
_QUALIFIED = re.compile(r"[A-Za-z_]\w{0,63}(?:\.[`\"\[]?\w{1,64}[`\"\]]?){1,4}(?![\w.@/+=$!#%-])")
_CALL = re.compile(
    r"[A-Za-z_][\w.]{0,100}"
    r"(?:\((?:\)|[\"'\w.({*]|\[)|\[[\"'\d]|\[[\w.$+*: -]{1,60}\](?![\w@#!%/=-]))"
)
_GROUP = re.compile(
    r"[(\[{](?:\s*+\Z|\w{1,64}\s{0,5}[=(:])|[(\[]\s++(?![\"'])|\{\s"
    r"|\(\s{0,20}(?i:select|with)\s|\[[\w.() ]{1,60}\sfor\s"
)
_TYPE = re.compile(r"[A-Za-z]{2,20}(?=[<(\[])")
# An expression that begins with a word of the language.
_EXPRESSION = re.compile(
    r"(?:await|not|new|yield|typeof|lambda|async|function)\s{1,5}[\w(\[{]"
    r"|(?i:case)\s{1,5}(?:[\w.]{1,60}\s{1,5}){0,3}(?i:when)\s|(?i:any|all|some)\s?\("
    r"|if\s?\(|yield\b|\(yield\b|\{\*\*|\{[\w.]{1,64}\}\s?/>|\[\s?(?:''|\"\")\s?,|~\s*(?:\n|\Z)"
    r"|\*[A-Za-z][A-Za-z_-]{0,60}[ \t]*(?:\n|\Z)"  # an alias of YAML
    r"|[\w.]{1,60}\s(?:match\s?\{|for\s[\w, ]{1,40}\sin\s)"
    r"|DEFAULT\b|[A-Za-z_][\w.]{0,60}\sif\s[^\n]{1,100}\selse\s"
)
# What holds the values of a program, and one of them.
_HELD = re.compile(
    r"(?:self|this|cls|args|opts|options|config|conf|cfg|settings|params|props|req|request|res|resp|"
    r"response|result|row|record|event|context|ctx|env|data|user|client|session|process\.env|"
    r"var|local|module|each|spark\.conf|os\.environ)(?:\.[A-Za-z_]\w{0,60}){1,4}(?![\w@/+=$!#%-])"
)
_CLAUSE = re.compile(
    r"(?i:\b(?:on|and|or|where|when|having|not)\s{1,10}(?:\w{1,64}\.){0,3}[`\"]?)\Z"
)
_PROSE = re.compile(r"[A-Za-z]{1,14}[,.]?\s{1,3}[a-z]{1,20}(?![\w=:])")
_PATH = re.compile(
    r"[\w.]{0,100}::(?i:string|varchar|text|char|number|numeric|decimal|int|integer|bigint|float|double|"
    r"boolean|bool|date|time|timestamp\w{0,4}|variant|array|object|jsonb?|uuid|binary|bytea)\b"
)
_FALLBACK = re.compile(
    r"[A-Za-z_][\w.]{0,100}(?:\[[\"'][\w.-]{1,60}[\"']\]|\([\"'][\w.-]{1,60}[\"']\)){0,2}\s?"
    r"(?:\bor\b|\?\?)\s?(?=[A-Za-z]{0,2}[\"'`])|(?:process\.)?env\.\w{1,60}\s?\|\|\s?(?=[\"'`])"
)
_PASSED = re.compile(r"[({\[,]\s{0,40}\Z")


def is_code(text: str, name_at: int, at: int) -> bool:
    """Whether no secret can begin at a place: a type, a variable, a call, a column."""
    if text.startswith(MASK, at + (text[at : at + 1] in "([{")):
        return True
    word = WORD.match(text, at)
    said = word[0].rstrip(".") if word else ""
    if said.lower() in NOTHING or PLACEHOLDER.match(text, at) or text.startswith("*/", at):
        return True
    if ("_" in said or "." in said) and _IDENTIFIER.match(said) and is_sensitive(said):
        return True
    bound = _BOUND.match(text, at) if text[at : at + 1] in (":", "@") else None
    if bound is not None and (text[at - 1 : at].isspace() or is_sensitive(bound[1])):
        return True
    kind = _TYPE.match(text, at)
    if kind is not None and kind[0].lower() in NOTHING:
        return True
    if any(pattern.match(text, at) for pattern in (_CALL, _GROUP, _EXPRESSION, _HELD)):
        return True
    return _is_column(text, name_at, at)


def is_prose(text: str, at: int) -> bool:
    """Whether the first of several words begins at a place."""
    return _PROSE.match(text, at) is not None


def is_same_variable(text: str, name: str, name_at: int, at: int) -> bool:
    """Whether a variable is passed under its own name: `f(token=token)`, `{"token": token}`."""
    end = at + len(name)
    root, _, last = name.rpartition(".")
    if root in ("this", "self", "cls") and text.startswith(last, at):
        return not text[at + len(last) : at + len(last) + 1].isalnum()
    word = WORD.match(text, at)
    is_named = word is not None and word[0].isalpha() and is_sensitive(word[0])
    if is_named and word is not None and _PASSED.search(text[max(0, name_at - 50) : name_at]):
        return text[word.end() : word.end() + 2].lstrip(" ")[:1] in (",", ")", "}")
    if text[at:end].lower() != name.lower() or text[end : end + 1].isalnum():
        return False
    if text[name_at - 1 : name_at] in ("'", '"'):
        return True
    if not _PASSED.search(text[max(0, name_at - 50) : name_at]):
        return False
    return text[end : end + 3].lstrip(" ")[:1] in (",", ")", "}", "]", ".", "\n")


def is_path(text: str, value: Value) -> bool:
    """Whether a path into a document ends at a cast: `token:sub::string` of Snowflake."""
    return _PATH.match(text, value.start) is not None


def after_fallback(text: str, at: int) -> int:
    """Where the text begins that stands in for a variable: `os.environ.get("A") or "x"`."""
    found = _FALLBACK.match(text, at) if text[at : at + 1].isalpha() else None
    return found.end() if found is not None else at


def _is_column(text: str, name_at: int, at: int) -> bool:
    """Whether the column on the other side of a condition begins at a place."""
    if not _QUALIFIED.match(text, at):
        return False
    return _CLAUSE.search(text[max(0, name_at - 200) : name_at]) is not None
