"""What a connector's configuration may say, before anything starts."""

from pathlib import Path

import pytest

from headwater.errors import BadConfig, SecretMissing
from headwater.openlineage.masking import MASK, masked, unmasked
from headwater.pipeline.config import CLASSES, Kind, check, parse
from headwater.pipeline.secrets import scrubbed
from pipeline.lab import CONNECTORS, shipped

SINK = {"connector.class": "s3-sink", "topics": "orders", "s3.bucket.name": "b"}
GENERATOR = {"connector.class": "generator", "genv.orders.id.with": "#{Internet.uuid}"}


@pytest.mark.parametrize("path", sorted(CONNECTORS.glob("*.json")), ids=lambda path: path.stem)
def test_shipped_connectors_are_understood_to_the_last_key(path: Path) -> None:
    places = ("SCHEMA_REGISTRY_URL", "AWS_REGION", "AWS_ENDPOINT_URL")
    config = parse(path.stem, shipped(path.stem), dict.fromkeys(places, "x"))
    assert config.unknown == ()
    if config.kind is not Kind.JOB:
        assert config.lineage["connector.name"] == path.stem


@pytest.mark.parametrize(("name", "kind"), CLASSES.items())
def test_a_class_is_known_by_its_own_and_its_short_name(name: str, kind: Kind) -> None:
    faults = check({"connector.class": name})
    assert "connector.class" not in faults


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"topics": "orders"}, "connector.class"),
        ({"connector.class": "jdbc"}, "connector.class"),
        ({"connector.class": "s3-sink", "s3.bucket.name": "b"}, "topics"),
        ({"connector.class": "s3-sink", "topics": "orders"}, "s3.bucket.name"),
        ({"connector.class": "iceberg-sink", "topics": "orders"}, "iceberg.tables"),
        ({"connector.class": "generator"}, "genv.TOPIC.FIELD.with"),
        ({**SINK, "tasks.max": "0"}, "tasks.max"),
        ({**SINK, "flush.size": "many"}, "flush.size"),
        ({**SINK, "errors.tolerance": "some"}, "errors.tolerance"),
        ({**SINK, "errors.deadletterqueue.topic.name": "d"}, "errors.deadletterqueue.topic.name"),
        ({**SINK, "transforms": "a"}, "transforms.a.type"),
        ({**SINK, "partitioner.class": "x.FieldPartitioner"}, "partition.field.name"),
        ({**SINK, "partitioner.class": "x.TimeBasedPartitioner"}, "path.format"),
        ({**SINK, "timestamp.extractor": "RecordField"}, "timestamp.field"),
        ({**GENERATOR, "genv.bids.id.matching": "orders.value.no"}, "genv.bids.id.matching"),
        (
            {**GENERATOR, "genv.orders.id.matching": "orders.value.id"},
            "genv.orders.id.matching",
        ),
        (
            {
                "connector.class": "iceberg-sink",
                "topics": "orders,bids",
                "iceberg.tables": "default.orders,default.others",
            },
            "iceberg.tables",
        ),
    ],
)
def test_a_fault_is_named_with_its_key(config: dict[str, str], key: str) -> None:
    with pytest.raises(BadConfig) as raised:
        parse("c", config, {})
    assert list(raised.value.faults) == [key]


def test_a_key_that_means_nothing_is_named() -> None:
    assert parse("c", {**SINK, "flush.sise": "3"}, {}).unknown == ("flush.sise",)


def test_secrets_are_read_late_and_from_both_places(tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    values = {**SINK, "topics.dir": "${env:FOLDER}/${file:" + str(file) + ":deep}"}
    config = parse("c", values, {"FOLDER": "a"})
    with pytest.raises(SecretMissing):
        config.get("topics.dir")
    file.write_text("# note\ndeep = b\n")
    assert config.get("topics.dir") == "a/b"
    assert "FOLDER" not in repr(config)


def test_secrets_are_never_shown() -> None:
    values = {"a.password": "open", "b.password": "${env:P}", "c": "plain"}
    shown = masked(values)
    assert shown == {"a.password": MASK, "b.password": "${env:P}", "c": "plain"}
    assert unmasked(shown, values) == values
    assert scrubbed("open sesame deep", values, {"P": "sesame"}) == f"{MASK} {MASK} deep"


@pytest.mark.parametrize(
    ("told", "topic", "name"),
    [
        ({"dataset.namespace": "s3://b"}, "bids", "bids"),
        ({"dataset.namespace": "s3://b", "dataset.names": "o,b"}, "bids", "b"),
        ({"dataset.namespace": "s3://b", "dataset.names": "o"}, "orders", "o"),
    ],
)
def test_a_sink_s_dataset_is_named_by_names_or_the_topic(
    told: dict[str, str], topic: str, name: str
) -> None:
    keys = {f"transforms.openlineage.{key}": value for key, value in told.items()}
    keys["transforms.openlineage.topics"] = "orders,bids"
    config = parse("sink", {**SINK, **keys}, {})
    assert config.dataset_options(topic) == {
        "headwater.dataset.namespace": "s3://b",
        "headwater.dataset.name": name,
    }
    assert parse("sink", SINK, {}).dataset_options(topic) == {}


def test_lineage_reads_the_schemas_that_the_configuration_names() -> None:
    told = {
        "key.converter.schema.read": "false",
        "value.converter.schema.read": "true",
        "value.converter.schema.registry.url": "http://schema:8081",
        "value.converter.basic.auth.user.info": "${env:LOGIN}",
    }
    keys = {f"transforms.openlineage.{key}": value for key, value in told.items()}
    config = parse("sink", {**SINK, **keys}, {"LOGIN": "admin:secret"})
    assert config.registry_options() == {
        "headwater.registry.url": "http://schema:8081",
        "headwater.registry.password": "admin:secret",
        "headwater.registry.read": "value",
    }
    assert parse("sink", SINK, {}).registry_options() == {}
