"""Where a value in a text ends, and whether it can be a secret at all.

Everything here reads forward once: no pattern backtracks over the length of a value.
"""

import re
from typing import NamedTuple

from headwater.openlineage.masking.addresses import MASK
from headwater.openlineage.masking.keys import is_sensitive

# The prefix of a literal in SQL (E, N, U&, _utf8), Python, Scala, C# or a shell.
_OPENING = re.compile(r"(?:[A-Za-z@$]{0,3}|[uU]&|_\w{2,12})(\\{0,7})([\"'`])")
_DOLLARS = re.compile(r"\$\w{0,63}\$")
_ORACLE = re.compile(r"[nN]?[qQ]'([^\s\w])")
_LONGEST_LITERAL = 10_000  # letters in which the end of a literal of a rare kind is looked for
_SCALAR = re.compile(r"[|>][\d+-]{0,3}[ \t]{0,20}(?:#[^\n]*+)?\n")
_LINE = re.compile(r"([ \t]*+)([^\n]*+)(?:\n|\Z)")
_YAML = re.compile(r"(?:&[\w-]{1,64}|!{1,2}[\w/:.-]{0,64})[ \t]{1,20}(?=\S)")
# A delimiter ends a value only where another key, a space or the end follows it.
_BARE = re.compile(
    r"[^\s,;&'\"<>|`()\[\]{}]++|[,;&](?!\s|\Z|[\w.\-]{1,64}+\s?[=:]|[\"'(])"
    r"|([(\[{]++)|([)\]}]++)"
)
_TUPLE = re.compile(r"\((?=\s*+[\"'])[^()]*+\)")
_BRACED = re.compile(r"\{[^{}\s]*+\}")
_LISTED = re.compile(r"\[(?=\s*+[\"'])[^\[\]]*+\]")
_WORD = re.compile(r"[^\s,;&'\"<>|`()\[\]{}]{1,200}")
_SMALL_NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,6})?(?![\w.-])")
_PLACEHOLDER = re.compile(
    r"(?:\$\{[\w.\-/]{1,100}(?::[^{}:=?+\-][^{}]{0,200})?\}|\$[A-Z_][A-Z0-9_]*|\$\d{1,3}|"
    r"\$\([^()]{0,200}\)|\{\{[^{}]{0,200}\}\}|\{\w{0,64}\}|#\{[^{}]{0,200}\}|%\(\w{1,64}\)s|"
    r"%[sdr]|\?|<[\w .:/-]{0,100}>|\[(?i:hidden|redacted|masked)\]|[*•…xX.\-]{3,200})"
    r"(?![\w@#!%+/=-])"
)
_BOUND = re.compile(r"[:@]([A-Za-z_]\w{0,63})(?!\w)")
_REFERENCE = re.compile(r"\$\{[A-Za-z][\w-]*:[^{}]+\}")
_NOTHING = frozenset({
    "none", "null", "nil", "undefined", "true", "false", "yes", "no", "required", "optional",
    "hidden", "masked", "redacted", "empty", "unset", "missing", "invalid", "expired", "n/a",
    "str", "string", "text", "varchar", "char", "int", "integer", "bigint", "long", "bytes",
    "binary", "bool", "boolean", "double", "float", "decimal", "date", "timestamp", "uuid", "json",
    "array", "map", "struct", "object", "any", "number", "void", "secretstr", "optional[str]",
})  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*+\Z")
_QUALIFIED = re.compile(r"[A-Za-z_]\w{0,63}(?:\.[`\"\[]?\w{1,64}[`\"\]]?){1,4}(?![\w.@/+=$!#%-])")
_CALL = re.compile(r"[A-Za-z_][\w.]{0,100}(?:\((?:\)|[\"'\w])|\[[\"'\d])")
_GROUP = re.compile(r"[(\[{](?:\s*+\Z|\w{1,64}\s{0,5}[=(:])|[(\[]\s++(?![\"'])|\{\s")
_TYPE = re.compile(r"[A-Za-z]{2,20}(?=[<(\[])")
_CLAUSE = re.compile(
    r"(?i:\b(?:on|and|or|where|when|having|not)\s{1,10}(?:\w{1,64}\.){0,3}[`\"]?)\Z"
)
_PROSE = re.compile(r"[A-Za-z]{1,14}[,.]?\s{1,3}[a-z]{1,20}(?![\w=:])")


class Value(NamedTuple):
    """Part of a text: `start` and `end` of what would be masked."""

    start: int
    end: int
    is_quoted: bool


def find_quoted(text: str, at: int) -> Value | None:
    """The text in quotes that begins at a place; one that never ends is taken to its line's end."""
    opening = _OPENING.match(text, at)
    if opening is None or _ORACLE.match(text, at):
        return _find_rare(text, at)
    quote, start = opening[2], opening.end()
    if not opening[1] and text.startswith(quote * 2, start):
        end = text.find(quote * 3, start + 2)
        return Value(start + 2, end if end >= 0 else len(text), True)
    end = _closing(text, start, quote, len(opening[1]))
    if end == start and text[start + 1 : start + 2].isalnum():  # quotes twice, inside of others
        twice = text.find(quote * 2, start + 1, start + _LONGEST_LITERAL)
        if twice >= 0:
            return Value(start + 1, twice, True)
    line = text.find("\n", start, end)
    return Value(start, end if line < 0 else line, True)


def _find_rare(text: str, at: int) -> Value | None:
    """A literal in PostgreSQL's dollars, or in the quotes of one's choice of Oracle."""
    dollars = _DOLLARS.match(text, at)
    if dollars is not None:
        end = text.find(dollars[0], dollars.end(), dollars.end() + _LONGEST_LITERAL)
        return Value(dollars.end(), end, True) if end > dollars.end() else None
    oracle = _ORACLE.match(text, at)
    if oracle is None:
        return None
    start = oracle.end() - 1
    closing = {"[": "]", "(": ")", "{": "}", "<": ">"}.get(oracle[1], oracle[1]) + "'"
    end = text.find(closing, start + 1, start + _LONGEST_LITERAL)
    return Value(start, end + 1 if end >= 0 else len(text), True)


def find_scalar(text: str, at: int) -> Value | None:
    """The lines of YAML's `key: |` and `key: >`, whose value begins at a place."""
    opening = _SCALAR.match(text, at)
    if opening is None:
        return None
    begin = text.rfind("\n", max(0, at - 400), at) + 1
    least = len(text[begin:at]) - len(text[begin:at].lstrip(" -")) + 1
    start, end = 0, opening.end()
    line = _LINE.match(text, end)
    while line is not None and line.start() < len(text):
        if line[2].strip():
            if len(line[1]) < least:
                break
            if not start:
                least, start = len(line[1]), line.start(2)
            end = line.end(2)
        line = _LINE.match(text, line.end())
    return Value(start, end, False) if start else None


def after_tags(text: str, at: int) -> int:
    """Where a value of YAML begins that has an anchor or a type before it."""
    tag = _YAML.match(text, at)
    return tag.end() if tag is not None else at


def find_value(text: str, at: int) -> Value | None:
    """The value that begins at a place: in quotes, in braces, a list of texts, or bare."""
    found = find_quoted(text, at)
    if found is not None:
        return found
    for pattern in (_BRACED, _LISTED, _TUPLE):
        enclosed = pattern.match(text, at)
        if enclosed is not None:
            return Value(at + 1, enclosed.end() - 1, True)
    end = _bare_end(text, at)
    return Value(at, end, False) if end > at else None


def is_empty(value: str) -> bool:
    """Whether a value says nothing, or only names where the secret is."""
    return not value.strip() or value == MASK or _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_reference(value: str) -> bool:
    """Whether nothing but references such as `${env:NAME}` is in a value of a configuration."""
    rest = _REFERENCE.sub("", value)
    return rest != value and not re.search(r"\w", rest)


def is_identifier(text: str, value: Value) -> bool:
    """Whether a text in quotes is the first part of a name: `"b"."password"`."""
    return text.startswith(('".', "'.", "`."), value.end)


def is_code(text: str, name_at: int, at: int) -> bool:
    """Whether no secret can begin at a place: a type, a variable, a call, a column.

    Looks at no more than a few hundred characters, because what it finds is not passed over.
    """
    if text.startswith(MASK, at + (text[at : at + 1] in "([{")):
        return True
    word = _WORD.match(text, at)
    said = word[0].rstrip(".") if word else ""
    if said.lower() in _NOTHING or _PLACEHOLDER.match(text, at):
        return True
    bound = _BOUND.match(text, at)
    if bound is not None and (text[at - 1 : at].isspace() or is_sensitive(bound[1])):
        return True
    kind = _TYPE.match(text, at)
    if kind is not None and kind[0].lower() in _NOTHING:
        return True
    if _CALL.match(text, at) or _GROUP.match(text, at):
        return True
    if _IDENTIFIER.match(said) and ("_" in said or "." in said) and is_sensitive(said):
        return True
    return _is_column(text, name_at, at)


def is_prose(text: str, at: int) -> bool:
    """Whether the first of several words begins at a place."""
    return _PROSE.match(text, at) is not None


def is_small_number(text: str, at: int) -> bool:
    """Whether a number begins at a place that is too short for a key."""
    return _SMALL_NUMBER.match(text, at) is not None


def _is_column(text: str, name_at: int, at: int) -> bool:
    """Whether the column on the other side of a condition begins at a place."""
    if not _QUALIFIED.match(text, at):
        return False
    return _CLAUSE.search(text[max(0, name_at - 200) : name_at]) is not None


def _bare_end(text: str, at: int) -> int:
    """Where a bare value ends; it may stand in brackets, as in `connect(password=x)`."""
    opened = 0
    piece = _BARE.match(text, at)
    while piece is not None:
        opened += len(piece[1] or "")
        if piece[2]:
            following = text[piece.end() : piece.end() + 1]
            if opened < len(piece[2]) and (not following or following in " \t\r\n,;./:&'\"<>|`"):
                return piece.start() + opened
            opened = max(0, opened - len(piece[2]))
        at = piece.end()
        piece = _BARE.match(text, at)
    return at


def _closing(text: str, start: int, quote: str, escapes: int) -> int:
    at = start
    while True:
        at = text.find(quote, at)
        if at < 0:
            return len(text)
        before = at
        while before > start and text[before - 1] == "\\":
            before -= 1
        count = at - before
        if escapes and count <= escapes:
            return before
        if not escapes and count % 2 == 0:
            if at == start or not text.startswith(quote * 2, at):
                return at
            at += 1
        at += 1
