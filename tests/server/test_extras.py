"""What is said where the Kafka client is not installed: the extra that the option needs."""

import sys
from typing import Any

import pytest

from headwater.errors import KafkaExtraMissing
from headwater.server.ingest import kafka_consumer
from headwater.server.topics import broker


@pytest.mark.parametrize(
    ("client", "extra"), [(broker._library, "topics"), (kafka_consumer._kafka, "kafka")]
)
def test_a_missing_kafka_client_is_installed_with_the_extra_that_its_user_needs(
    monkeypatch: pytest.MonkeyPatch, client: Any, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(KafkaExtraMissing) as refused:
        client()
    assert f"'headwater[server,{extra}]'" in refused.value.hint
