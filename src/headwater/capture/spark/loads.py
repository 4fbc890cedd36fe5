"""`LOAD DATA`: files that become part of a table without being read."""

import json

from headwater.capture.plan import PlanLineage
from headwater.capture.plan.sources import Field, Source, relation_of
from headwater.capture.spark.jvm import Java

COMMAND = "LoadDataCommand"


def table_of(session: Java, plan: Java) -> Java:
    """The table that files are loaded into, as Spark's catalog has it."""
    return session.sessionState().catalog().getTableMetadata(plan.table())


def lineage_of(table: Java) -> PlanLineage:
    """Each column of the table is that of the files, except those that the partition sets."""
    fields = json.loads(str(table.dataSchema().json()))["fields"]
    columns = tuple(Field(field["name"], field["type"]) for field in fields)
    source = Source(COMMAND, tuple(range(len(columns))), columns)
    return PlanLineage((source,), relation_of(source, 0), COMMAND)
