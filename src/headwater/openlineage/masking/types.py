"""Tells types of columns from secrets: `varchar(20)`, `array<string>`, `double precision`."""

import re

from headwater.openlineage.masking.declarations import TYPES

_COLUMN_TYPES = TYPES | frozenset({
    "real", "serial", "bigserial", "smallserial", "money", "smallmoney", "inet", "cidr", "interval",
    "bit", "bpchar", "character", "nvarchar2", "ntext", "longtext", "mediumtext", "tinytext",
    "mediumint", "hugeint", "datetime2", "datetimeoffset", "smalldatetime", "uniqueidentifier",
    "xml", "geography", "geometry", "timestamp_ntz", "timestamp_ltz", "timestamp_tz", "int2",
    "int4", "float4", "float8", "int128", "int256", "uint16", "uint32", "uint64", "fixed",
    "fixedstring", "nullable", "lowcardinality", "varbinary", "bignumeric", "bigdecimal", "year",
})  # fmt: skip
_QUALIFIERS = frozenset(
    {"varying", "precision", "unsigned", "with", "without", "local", "zone", "not", "max"}
)
_TYPE = re.compile(r"([A-Za-z]\w{0,30})((?:<[^\"']{1,300}>)?)([\w\s,()\[\]?]{0,100})\Z")
_SPARK = re.compile(r"[A-Z][A-Za-z]{2,15}Type(?:\(\))?\Z")


def is_type(text: str) -> bool:
    """Whether a text is the type of a column and nothing else."""
    found = _TYPE.match(text)
    if found is None:
        return False
    words = (found[1].lower(), *re.findall(r"\w+", found[3].lower()))
    is_known = words[0] in _COLUMN_TYPES and all(
        word.isdigit() or word in _COLUMN_TYPES or word in _QUALIFIERS for word in words[1:]
    )
    return is_known or _SPARK.match(text) is not None
