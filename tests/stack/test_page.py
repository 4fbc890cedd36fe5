"""The page before the real platform: topics of a real broker, connectors of real Kafka Connect."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from page import lab
from page.browser import axe_script, launched, opened, violations
from page.connectors import deployed, run_through
from page.graph import dataset_id, node
from server.process import ServerProcess
from server.shapes import check_answers
from stack.platform import Platform
from stack.topics import BIG, fill


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def url(platform: Platform) -> str:
    """The platform's own server, which knows its broker, registry and Kafka Connect."""
    fill(platform.variables())
    return str(platform.variables()["OPENLINEAGE_URL"])


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    with opened(browser, url, reduced_motion="reduce", bypass_csp=True) as found:
        yield found


def ask(url: str, path: str) -> Any:
    with httpx.Client(base_url=url, timeout=120) as client:
        check_answers(client)
        answer = client.get(f"/api/v1/kafka{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()


def values(url: str, topic: str) -> list[dict[str, Any] | None]:
    """The values of a topic's messages, in the order in which they were sent."""
    found = ask(url, f"/kafka/topics/{topic}/messages")["messages"]
    return [one["value"] for one in sorted(found, key=lambda one: one["offset"])]


def test_messages_are_decoded_by_their_own_schema_and_hold_no_secrets(url: str) -> None:
    first, second = values(url, "shown-avro")
    assert first is not None
    assert second is not None
    assert first["value"] == {"id": str(BIG), "supplier": "s1", "api_token": "******"}
    assert second["value"]["place"] == {"city": "Lund"}
    assert first["format"] == "avro"
    assert first["schemaId"] != second["schemaId"]
    (proto,) = values(url, "shown-proto")
    assert proto is not None
    assert (proto["format"], proto["value"]) == ("protobuf", {"item": "cup", "price": "7"})
    told, unknown, bad = values(url, "shown-json")
    assert told is not None
    assert (told["format"], told["value"]) == ("json", {"url": "/a"})
    assert unknown is not None
    assert unknown["value"] == "00 00 0f 42 3f ff fe"
    assert bad is not None
    assert "does not fit schema" in bad["note"]
    messages = json.dumps(ask(url, "/kafka/topics/shown-avro/messages"))
    assert "hunter2" not in messages


def test_what_has_no_schema_is_json_text_or_hex_and_never_too_long(url: str) -> None:
    record, line, secret, raw, nothing, long = values(url, "shown-plain")
    assert record is not None
    assert record["value"] == {"password": "******", "n": 1}
    assert line is not None
    assert (line["format"], line["value"]) == ("text", "just a line with password=******")
    assert secret is not None
    assert (secret["format"], secret["value"]) == ("hex", None)
    assert raw is not None
    assert (raw["format"], raw["value"]) == ("hex", "80 81 82")
    assert nothing is None
    assert long is not None
    assert (len(long["value"]), long["isCut"], long["size"]) == (20_000, True, 30_000)


def test_topics_are_listed_with_versions_and_asking_leaves_nothing(url: str) -> None:
    (cluster,) = ask(url, "")
    assert (cluster["name"], cluster["hasRegistry"]) == ("kafka", True)
    topics = {one["name"]: one for one in ask(url, "/kafka/topics")["topics"]}
    shown = topics["shown-avro"]
    assert (shown["partitions"], shown["messages"]) == (1, 2)
    assert shown["subjects"] == [{"name": "shown-avro-value", "versions": 2}]
    (subject,) = ask(url, "/kafka/topics/shown-avro")["subjects"]
    assert [one["version"] for one in subject["versions"]] == [2, 1]
    missing = httpx.get(f"{url}/api/v1/kafka/kafka/topics/nowhere/messages", timeout=120)
    assert missing.status_code == 404
    assert "has no topic 'nowhere'" in missing.json()["message"]
    names = {one["name"] for one in ask(url, "/kafka/topics")["topics"]}
    assert "nowhere" not in names
    assert httpx.get(f"{url}/api/v1/kafka/other/topics", timeout=120).status_code == 404


def test_a_broker_that_is_away_is_told_at_once_and_its_password_is_not(tmp_path: Path) -> None:
    option = "away=127.0.0.1:1?registry=http://127.0.0.1:2&sasl.password=hunter2"
    server = ServerProcess(f"sqlite:///{tmp_path}/s.db", tmp_path / "log", "--kafka", option)
    with server:
        assert "hunter2" not in server.api.client.get("/api/v1/kafka").text
        began = time.monotonic()
        told = server.api.client.get("/api/v1/kafka/away/topics")
        assert time.monotonic() - began < 30  # no time is measured: it must only not wait for ever
    assert told.status_code == 502
    assert "away at 127.0.0.1:1 does not answer" in told.json()["message"]


def test_the_page_shows_a_topic_its_schemas_and_messages(page: Page) -> None:
    page.goto("/pipelines/topics")
    row = page.get_by_role("row", name=re.compile("shown-avro"))
    expect(row).to_contain_text("2 versions")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="shown-avro", exact=True)).to_be_visible()
    expect(page.get_by_text("+ place.city")).to_be_visible()
    table = page.locator(".messages")
    expect(table).to_contain_text(str(BIG))
    expect(table).to_contain_text("******")
    page.get_by_role("button", name="0/1", exact=True).click()
    expect(page.locator(".whole")).to_contain_text('"city": "Lund"')
    expect(page.locator(".whole")).to_contain_text("x-password")
    expect(page.locator("main")).not_to_contain_text("hunter2")
    page.get_by_text("Read version 2").click()
    expect(page.locator("pre.source").first).to_contain_text('"name": "Place"')
    assert violations(page, axe_script()) == []


def test_a_story_leads_to_the_messages_at_its_offsets_and_these_to_what_they_reached(
    page: Page, platform: Platform, url: str
) -> None:
    topic = (f"kafka://{platform.variables()['KAFKA_BOOTSTRAP_SERVERS']}", "shown-avro")
    table = ("s3://shown", "warehouse/shown/avro")
    offsets = {"shown-avro": {"0": [1, 2]}}
    commit = {"batch": 7, "snapshot": "77", "sequence": 1, "offsets": offsets}
    progress = lab.own("progress", rows=1, sources=[], snapshots=["77"], commits=[commit])
    read, written = ({"namespace": one[0], "name": one[1]} for one in (topic, table))
    lab.post(url, [lab.event("COMPLETE", "reader-of-shown", lab.run_id("shown"), datetime.now(UTC),
                             inputs=(read,), outputs=(written,),
                             headwater_progress=progress)])  # fmt: skip
    page.goto(f"/why?node={quote(dataset_id(table), '')}")
    page.get_by_role("link", name="Messages").click()
    expect(page.get_by_text("Messages of partition 0, starting at offset 1")).to_be_visible()
    expect(page.locator(".whole")).to_contain_text('"city": "Lund"')
    page.get_by_role("link", name="What did this reach?").click()
    expect(page.get_by_label("Offsets")).to_have_value("1")
    expect(node(page, dataset_id(table)).locator(".stop")).to_have_text("1 snapshot")
    page.go_back()
    page.get_by_role("button", name="Earlier").click()
    expect(page.locator(".whole")).to_contain_text(str(BIG))
    page.goto(f"/pipelines/topic?node={quote(dataset_id((topic[0], 'nowhere')), '')}")
    expect(page.get_by_text("No Kafka cluster of the server has nowhere")).to_be_visible()


def test_the_page_runs_connectors_of_real_kafka_connect(page: Page, tmp_path: Path) -> None:
    source = tmp_path / "seen.txt"
    source.write_text("one\ntwo\n")
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(source),
        "some.password": "hunter2",
    }
    page.goto("/pipelines")
    expect(page.locator("main")).to_contain_text("Kafka Connect")
    panel = deployed(page, "seen", config, {"topic": "shown-connect"})
    expect(panel).to_contain_text("FileStreamSourceConnector")
    expect(panel).not_to_contain_text("hunter2")
    run_through(page, "seen")
    page.goto("/pipelines/topic?cluster=kafka&topic=shown-connect")
    expect(page.locator(".messages")).to_contain_text("two")
