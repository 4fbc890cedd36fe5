"""Values inside columns: dotted names meet over jobs that name a whole column or a part of it."""

from typing import Any

from server.api import Api
from server.events import comes_from, dataset, facet, lineage, run_event

Step = tuple[str, str]
IDENTITY, TRANSFORMATION = ("DIRECT", "IDENTITY"), ("DIRECT", "TRANSFORMATION")
FILTER = ("INDIRECT", "FILTER")
PAYLOAD = facet(
    fields=[
        {"name": "id", "type": "int"},
        {
            "name": "payload",
            "type": "struct",
            "fields": [{"name": "price", "type": "double"}, {"name": "shop", "type": "string"}],
        },
    ]
)


def field(name: str, of: str) -> str:
    return f"datasetField:db:{of}:{name}"


def origin(of: str, name: str, *steps: Step) -> dict[str, Any]:
    told = [{"type": kind, "subtype": subtype} for kind, subtype in steps]
    return comes_from(of, name, transformations=told)


def columns(**fields: list[dict[str, Any]]) -> dict[str, Any]:
    return lineage(**{name.replace("__", "."): inputs for name, inputs in fields.items()})


def send(api: Api, job: str, source: dict[str, Any], target: dict[str, Any]) -> None:
    api.send(run_event(run=job, job=job, inputs=[source], outputs=[target]))


def send_copy(api: Api, source: str = "raw", target: str = "copy") -> None:
    """A job that copies the whole struct."""
    mapping = columns(payload=[origin(source, "payload", IDENTITY)])
    written = dataset(target, schema=PAYLOAD, columnLineage=mapping)
    send(api, target, dataset(source, schema=PAYLOAD), written)


def send_reader(api: Api, source: str = "copy", target: str = "totals") -> None:
    """A job that reads one field of the struct, and as capture does names the struct beside it."""
    mapping = columns(
        total=[
            origin(source, "payload", TRANSFORMATION),
            origin(source, "payload.price", IDENTITY),
        ],
        place=[
            origin(source, "payload", TRANSFORMATION),
            origin(source, "payload.shop", IDENTITY),
        ],
    )
    written = dataset(target, columnLineage=mapping)
    send(api, target, dataset(source), written)


def found(api: Api, node: str, way: str = "upstream") -> set[str]:
    down = {"withDownstream": "true"} if way == "downstream" else {}
    return set(api.columns(node, depth=20, **down)) - {node}


def test_a_field_is_followed_through_a_copy_of_the_struct_that_holds_it(api: Api) -> None:
    send_copy(api)
    send_reader(api)
    assert found(api, field("total", "totals")) == {
        field("payload", "copy"),  # told, for who knows no dotted names, and not followed
        field("payload.price", "copy"),
        field("payload.price", "raw"),
    }


def test_a_field_leads_downstream_to_what_reads_it_and_not_to_its_sibling(api: Api) -> None:
    send_copy(api)
    send_reader(api)
    reached = found(api, field("payload.price", "raw"), "downstream")
    assert reached == {field("payload.price", "copy"), field("total", "totals")}


def test_a_struct_leads_to_all_that_reads_it_or_a_field_of_it(api: Api) -> None:
    send_copy(api)
    send_reader(api)
    reached = found(api, field("payload", "raw"), "downstream")
    assert reached == {
        field("payload", "copy"),
        field("total", "totals"),
        field("place", "totals"),
    }


def test_who_reads_the_whole_struct_depends_on_each_field_that_is_written(api: Api) -> None:
    mapping = columns(
        payload=[origin("raw", "a", TRANSFORMATION), origin("raw", "b", TRANSFORMATION)],
        payload__price=[origin("raw", "a", IDENTITY)],
        payload__shop=[origin("raw", "b", IDENTITY)],
    )
    written = dataset("made", schema=PAYLOAD, columnLineage=mapping)
    send(api, "make", dataset("raw"), written)
    whole = columns(text=[origin("made", "payload", TRANSFORMATION)])
    output = dataset("texts", columnLineage=whole)
    send(api, "read", dataset("made"), output)
    send_reader(api, "made", "totals")
    up = found(api, field("text", "texts"))
    assert {field("a", "raw"), field("b", "raw"), field("payload", "made")} == up
    down = found(api, field("a", "raw"), "downstream")
    assert field("text", "texts") in down
    assert field("total", "totals") in down
    assert field("place", "totals") not in down
    assert found(api, field("total", "totals")) == {
        field("payload", "made"),
        field("payload.price", "made"),
        field("a", "raw"),
    }


def test_a_field_of_a_dataset_that_lists_none_is_followed_by_the_struct(api: Api) -> None:
    mapping = columns(payload=[origin("raw", "payload", IDENTITY)])
    copy = dataset("copy", columnLineage=mapping)
    send(api, "copy", dataset("raw"), copy)
    send_reader(api)
    assert field("payload", "raw") in found(api, field("total", "totals"))
    assert field("total", "totals") in found(api, field("payload", "raw"), "downstream")


def test_what_decides_by_a_field_is_found_from_the_struct_and_from_the_field(api: Api) -> None:
    mapping = columns(x=[origin("raw", "id", IDENTITY)])
    mapping["dataset"] = [
        origin("raw", "payload", FILTER),
        origin("raw", "payload.price", FILTER),
    ]
    written = dataset("kept", columnLineage=mapping)
    source = dataset("raw", schema=PAYLOAD)
    send(api, "keep", source, written)
    kept = {field("x", "kept")}
    assert found(api, field("payload", "raw"), "downstream") == kept
    assert found(api, field("payload.price", "raw"), "downstream") == kept
    assert found(api, field("payload.shop", "raw"), "downstream") == set()
    assert field("payload.price", "raw") in found(api, field("x", "kept"))


def test_a_dot_in_the_name_of_a_plain_column_hides_no_other_column(api: Api) -> None:
    names = facet(fields=[{"name": "a", "type": "int"}, {"name": "a.b", "type": "int"}])
    sums = columns(x=[origin("t", "a", TRANSFORMATION), origin("t", "a.b", TRANSFORMATION)])
    written = columns(
        a=[origin("s", "one", IDENTITY)],
        a__b=[origin("s", "two", IDENTITY)],
    )
    table = dataset("t", schema=names, columnLineage=written)
    send(api, "write", dataset("s"), table)
    output = dataset("u", columnLineage=sums)
    send(api, "read", dataset("t"), output)
    assert {field("one", "s"), field("two", "s")} <= found(api, field("x", "u"))


def test_the_impact_of_a_field_is_that_of_the_field(api: Api) -> None:
    send_copy(api)
    send_reader(api)
    items = api.get("/impact", nodeId=field("payload.price", "raw"))["items"]
    assert {item["nodeId"]: item["kind"] for item in items} == {
        field("payload.price", "copy"): "DIRECT",
        field("total", "totals"): "DIRECT",
    }


STRUCT = facet(fields=[{"name": "a", "type": "struct"}])


def test_many_values_inside_a_column_lead_to_what_they_feed(api: Api) -> None:
    """Of the ways between two columns, which may be thousands, only some are told."""
    mapping = columns(o=[origin("raw", f"a.{i}", IDENTITY) for i in range(300)])
    send(api, "many", dataset("raw", schema=STRUCT), dataset("few", columnLineage=mapping))
    assert field("o", "few") in found(api, field("a", "raw"), "downstream")


def test_a_name_with_too_many_dots_is_plain(api: Api) -> None:
    deep = "a" + ".a" * 40
    mapping = columns(o=[origin("raw", deep, IDENTITY)])
    send(api, "deep", dataset("raw", schema=STRUCT), dataset("few", columnLineage=mapping))
    assert found(api, field(deep, "raw"), "downstream") == {field("o", "few")}
    assert found(api, field("o", "few")) == {field(deep, "raw")}
