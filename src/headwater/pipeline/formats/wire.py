"""Confluent's wire format: a zero byte, four bytes of schema id, the record."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.capture.spark.streams import NEW_SCHEMA, NEW_SCHEMA_ID
from headwater.schemas.registry import HEADER, SchemaId

MARK = "_decoded"  # true in every value that was decoded, null in one that could not be


def framed(schema_id: SchemaId, payload: Column) -> Column:
    """A record with its header."""
    return F.concat(F.unhex(F.lit(header(schema_id).hex())), payload)


def header(schema_id: SchemaId) -> bytes:
    """What a record of a schema begins with."""
    return b"\0" + schema_id.to_bytes(HEADER - 1, "big")


def payload(raw: Column) -> Column:
    """A record without its header."""
    return F.substring(raw, F.lit(HEADER + 1), F.length(raw))


def schema_id(raw: Column) -> Column:
    """The id in a record's header."""
    return F.conv(F.hex(F.substring(raw, 2, 4)), 16, 10).cast("bigint")


def is_framed(raw: Column) -> Column:
    """Whether a record has a header; ids of schemas are below 2^31."""
    has_zero = F.hex(F.substring(raw, 1, 1)) == F.lit("00")
    return (F.length(raw) >= HEADER) & has_zero & (F.hex(F.substring(raw, 2, 1)) < F.lit("80"))


def unknown(raw: Column, place: Column) -> Column:
    """Fails the query with the id that has to be learnt."""
    return F.raise_error(
        F.concat(F.lit(NEW_SCHEMA), schema_id(raw).cast("string"), F.lit(" at "), place)
    )


def bad(place: Column) -> Column:
    """Fails the query with the place of the record that cannot be decoded."""
    return F.raise_error(F.concat(F.lit("headwater: a record cannot be decoded at "), place))


def unknown_id(message: str) -> SchemaId | None:
    """The id that a failed query did not know, if that is why it failed."""
    found = NEW_SCHEMA_ID.search(message)
    return SchemaId(int(found.group(1))) if found else None
