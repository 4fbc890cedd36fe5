"""Tells declarations of code from assignments: parameters of functions, types, headers of blocks.

`token -> upper(token)`, `token: Dataset[Row]` and `if not token: continue` name a secret and hold
none.
"""

import re
from typing import NamedTuple

from headwater.openlineage.masking.expressions import NOTHING
from headwater.openlineage.masking.keys import is_sensitive
from headwater.openlineage.masking.prose import is_secret_word
from headwater.openlineage.masking.values import WORD

_PARAMETER = re.compile(r"(?:\blambda\s[\w\s,*]{0,100}|\bfor\s?\([\w<>\[\], ]{1,100})\Z")
# A map as Scala prints it: `Map(user -> bob, password -> x)`.
_PRINTED = re.compile(r"\b(?:[A-Z]\w{0,40})?Map\([^()]{0,300}\Z")
_SHORTEST = 5  # letters of a word without quotes behind an arrow that is taken for a secret

_TYPE_NAME = re.compile(r"[\"']?([A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,6})")
_PARAMETERS = re.compile(r"[\w\s,.|?&<>\[\]():=\"'*+-]{0,300}")
_SIZE = re.compile(r"\(\s?\d{1,5}\s?(?:,\s?\d{1,5}\s?)?\)")
_MORE = re.compile(r"[\"']?(?:\[\]){0,3}\??(?:\s?(?:[|&]|with\b)\s?(?=[\"'A-Za-z]))?")
_DEFAULT = re.compile(r"\s{1,5}=\s{1,20}(?=\S)|=(?=[\"'])")
TYPES = NOTHING | frozenset({
    "list", "dict", "set", "tuple", "seq", "option", "either", "vector", "iterable", "iterator",
    "callable", "union", "literal", "final", "classvar", "annotated", "sequence", "mapping", "type",
    "row", "column", "dataframe", "dataset", "series", "rdd", "broadcast", "structtype",
    "sparksession", "future", "promise", "try", "record", "partial", "readonly", "class", "enum",
    "datetime", "time", "timestamptz", "datetime64", "path", "unit", "int8", "int16", "int32",
    "int64", "uint8", "float32", "float64", "short", "byte", "symbol", "unknown", "never",
    "varchar2", "nvarchar", "nchar", "clob", "blob", "bytea", "tinyint", "smallint", "numeric",
    "variant",
    "jsonb", "stringtype", "utf8", "charsequence", "collection", "supplier", "function", "stream",
    "completablefuture", "mono", "flux", "box", "arc", "vec", "hashmap", "rc", "result",
})  # fmt: skip
_BRACKETS = {"[": "]", "<": ">", "(": ")"}
_CAMEL = re.compile(r"[A-Z][a-z]{1,30}(?:[A-Z][a-z]{1,30}){1,6}\Z")
_INNER = re.compile(r"[A-Z][a-z]{2,}|[A-Z][,>]|\?|[a-z]+[,>]")
_BEHIND_TYPE = re.compile(r"\s*+(?:[,;)\]}>=|?#\"'\\]|/[/*]|\Z)|[ \t]*+\n")
# What stands before the name where a type must follow it.
_DECLARED = re.compile(
    r"(?:\b(?:val|var|let|const|lateinit|readonly|mut|private|public|protected)\s{1,5}"
    r"|\b(?:def|class|function|fun|fn|func|constructor|record)\b[^()\n]{0,80}"
    r"(?:\([^()]{0,200}\)\s?)?\([^()]{0,400}"
    r"|\b(?:const|let|var)\s{0,3}\{[^{}=]{0,200})\Z"
)
_MEMBER = re.compile(
    r"(?:\A|\n)[ \t]{0,40}"
    r"(?:export |data ){0,2}(?:class|interface|struct|trait|type)\s[^\n:]{1,100}"
    r"[:{][ \t\r]{0,5}\n(?:[ \t]++[^\n]{0,200}\n|\r?\n){0,20}[ \t]+\Z"
)
_HEADER = re.compile(
    r"(?:(?:\A|[\n;])[ \t]{0,80}"
    r"(?:if|elif|while|for|with|match|case(?!\s+class)|else|try|except)\b[^\n:]{0,200}"
    r"|\b(?:if|elif|while|not|and|or|in|is)\s{1,3}\(?(?:\w{1,60}\.){0,3})\Z"
)
_STATEMENT = re.compile(
    r"(?:continue|break|pass|return|raise|yield|del|assert|print|exit)\b(?!\s?[=:.-])"
    r"|[A-Za-z_][\w.]{0,100}(?:\[[^\[\]\n]{1,60}\])?(?:\s?[-+*/|&]?=(?!=)|\(|\s=\s)"
)


class Annotation(NamedTuple):
    """A type that stands behind a name and its colon."""

    end: int
    name: str
    has_parameters: bool


def is_parameter(text: str, name_at: int) -> bool:
    """Whether a name before a colon is a parameter of `lambda name: …` or `for (T name : …)`."""
    return _PARAMETER.search(text[max(0, name_at - 120) : name_at]) is not None


def is_printed(text: str, name_at: int) -> bool:
    """Whether a name is a key of a map that Scala printed, whose texts have no quotes."""
    return _PRINTED.search(text[max(0, name_at - 350) : name_at]) is not None


def is_arrow_body(text: str, at: int) -> bool:
    """Whether the body of `name -> …` or `name => …` begins at a place, not the value of an option.

    Some configurations have such values without quotes: a word that only a secret is is none.
    """
    word = WORD.match(text, at)
    is_member = text[at - 1 : at] == ">" and not text[at - 3 : at - 2].isspace()
    if word is None or is_member or word[0].startswith("!") or "." in word[0].rstrip("."):
        return True
    is_call = text[word.end() : word.end() + 1] in ("(", "[")
    return is_call or not is_secret_word(word[0], _SHORTEST)


def is_header(text: str, name_at: int, at: int) -> bool:
    """Whether a statement begins at a place, behind a header: `if not token: continue`."""
    if not _STATEMENT.match(text, at):
        return False
    return _HEADER.search(text[max(0, name_at - 250) : name_at]) is not None


def find_default(text: str, at: int) -> int | None:
    """Where the value begins of `name: type = value`, by where the type does."""
    annotation = _find_annotation(text, at)
    default = _DEFAULT.match(text, annotation.end) if annotation is not None else None
    return default.end() if default is not None else None


def is_quoted_type(text: str, name_at: int, inner: str) -> bool:
    """Whether a text in quotes is the type of a parameter: `def f(token: "Token")`."""
    return inner.isidentifier() and inner[:1].isupper() and _is_declared(text, name_at)


def is_declaration(text: str, name: str, name_at: int, at: int) -> bool:
    """Whether a type begins at a place, behind a name and its colon."""
    if text.startswith("(", at):
        return _is_declared(text, name_at)
    annotation = _find_annotation(text, at)
    if annotation is None or not _BEHIND_TYPE.match(text, annotation.end):
        return False
    last = annotation.name.rpartition(".")[2]
    if last.lower() in TYPES or annotation.has_parameters:
        return True
    is_named_alike = last[:1].isupper() and last.lower() == name.lower()
    if is_named_alike or (_CAMEL.match(last) and is_sensitive(last)):
        return True
    return _is_declared(text, name_at)


def _is_declared(text: str, name_at: int) -> bool:
    """Whether a name is that of a parameter, a variable with a type or a member of a class."""
    return (
        _DECLARED.search(text[max(0, name_at - 600) : name_at]) is not None
        or _MEMBER.search(text[max(0, name_at - 1000) : name_at]) is not None
    )


def _find_annotation(text: str, at: int) -> Annotation | None:
    """The type that begins at a place, with the types that are joined to it."""
    name, has_parameters, end = None, False, at
    for _ in range(8):
        found = _TYPE_NAME.match(text, end)
        if found is None:
            break
        name, end = name or found[1], found.end()
        inner = _parameters_end(text, end, found[1])
        has_parameters = has_parameters or inner > end
        more = _MORE.match(text, inner)
        end = more.end() if more is not None else inner
        if more is None or not more[0].rstrip().endswith(("|", "&", "with")):
            break
    return Annotation(end, name, has_parameters) if name is not None else None


def _parameters_end(text: str, at: int, name: str) -> int:
    """Where the parameters end of a type with some at a place, or that place."""
    size = _SIZE.match(text, at)
    if size is not None:
        return size.end()
    opening = text[at : at + 1]
    is_known = name.rpartition(".")[2].lower() in TYPES
    if opening == "[":
        is_type = is_known or name.rpartition(".")[2][:1].isupper()
    else:
        is_type = opening == "<" and (is_known or _INNER.match(text, at + 1) is not None)
    if not is_type:
        return at
    inside = _PARAMETERS.match(text, at)
    depth = 0
    for place in range(at, inside.end() if inside is not None else at):
        if text[place] == opening:
            depth += 1
        elif text[place] == _BRACKETS[opening]:
            depth -= 1
            if depth == 0:
                return place + 1
    return at
