"""What can be declared by hand: the bodies of requests."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from headwater.openlineage.events import MAX_NAME

LongText = Annotated[str, Meta(max_length=65_536)]
NameText = Annotated[str, Meta(max_length=MAX_NAME)]


class NewNamespace(Struct, rename="camel"):
    """A namespace to make or change."""

    owner_name: NameText | None = None
    description: LongText | None = None


class NewSource(Struct, rename="camel"):
    """A source to make or change."""

    type: NameText
    connection_url: LongText | None = None
    description: LongText | None = None


class NewTag(Struct):
    """What a tag means."""

    description: LongText | None = None


class NewDataset(Struct, rename="camel"):
    """A dataset as it is declared by hand."""

    type: str | None = None
    physical_name: str | None = None
    source_name: str | None = None
    fields: list[dict[str, Any]] | None = None
    tags: list[str] | None = None
    description: str | None = None
    run_id: str | None = None


class NewJob(Struct, rename="camel"):
    """A job as it is declared by hand."""

    type: str | None = None
    inputs: list[Any] | None = None
    outputs: list[Any] | None = None
    location: str | None = None
    description: str | None = None
    run_id: str | None = None


class NewRun(Struct, rename="camel"):
    """A run that is about to be."""

    id: str | None = None
    nominal_start_time: str | None = None
    nominal_end_time: str | None = None
    args: dict[str, Any] | None = None
