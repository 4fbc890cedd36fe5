"""Records that retention has removed. What was read with them cannot be evaluated any more, so that
these tests come after all others of the same topic.
"""

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headwater.trace.shapes import Record
from headwater.trace.why import why
from headwater.trace.why_not import why_not
from pipeline.tracing import ORDERS, TOPIC, Traced


def test_records_that_retention_has_removed_are_told(traced: Traced) -> None:
    first = Record(TOPIC, 0, 0)
    there = why_not(traced.spark, traced.client, traced.settings, ORDERS, first)
    assert there.row is not None
    admin = AdminClient({"bootstrap.servers": traced.settings.bootstrap})
    for done in admin.delete_records([TopicPartition(TOPIC, 0, 1)]).values():
        done.result(60)
    told = why_not(traced.spark, traced.client, traced.settings, ORDERS, first)
    assert (told.outcome, told.job) == ("removed", "iceberg-ingestion")
    predicate = f"order_id = '{there.row['order_id']}'"
    story = why(traced.spark, traced.client, ORDERS, predicate, 1, traced.settings)
    found = story.rows[0].records
    assert found is not None
    assert not found.exact
    assert not found.complete
    assert "retention has removed" in found.reason
