"""Namespaces, sources, tags, search and statistics."""

import re
from datetime import datetime
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from litestar import Controller, Request, Response, delete, get, put

from headwater.api.catalog import (
    AssetCounts,
    EventCounts,
    Namespace,
    NamespacePage,
    Source,
    SourcePage,
    Tag,
    TagPage,
)
from headwater.api.requests import NewNamespace, NewSource, NewTag
from headwater.api.search import SearchPage
from headwater.errors import EventRejected
from headwater.openlineage.events import MAX_NAME, check_text
from headwater.openlineage.times import parse_moment
from headwater.server.http.access import (
    ADMINISTERS_PATH,
    READS_ALL,
    READS_PATH,
    READS_QUERY,
    READS_SOME,
    WRITES_ALL,
    WRITES_PATH,
)
from headwater.server.http.common import answer, bounded, clock
from headwater.server.http.errors import BadParameters, BadRequest, NotFound
from headwater.server.http.parameters import (
    Limit,
    Offset,
    OptionalText,
    OptionalWord,
    PathText,
    SearchFilter,
    SearchTypes,
    Text,
    Time,
)
from headwater.server.lineage.search import TYPES, Wanted, search_all
from headwater.server.lineage.view import StoreView, moment
from headwater.server.marquez import stats
from headwater.server.marquez.search import search
from headwater.server.service import Service
from headwater.server.store import changes

_NAMESPACE = "SELECT name, created_at, updated_at, owner, description, hidden FROM namespace"
_SOURCE = "SELECT type, name, created_at, updated_at, url, description FROM source"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Namespaces(Controller):
    """Namespaces."""

    tags = ("Namespaces",)
    path = "/api/v1/namespaces"

    @get("/", opt=READS_SOME, sync_to_thread=True)
    def list_namespaces(
        self, service: Service, limit: Limit = 100, offset: Offset = 0
    ) -> Response[NamespacePage]:
        """List all namespaces, by name."""
        with service.open_view() as view:
            where, params = view.scope.named("name")
            rows = view.session.all(
                f"{_NAMESPACE}{where} AND NOT hidden ORDER BY name LIMIT ? OFFSET ?",
                *params, bounded(limit), bounded(offset),
            )  # fmt: skip
        return answer(NamespacePage([_namespace(row) for row in rows]))

    @get("/{name:str}", opt=READS_PATH, sync_to_thread=True)
    def get_namespace(self, service: Service, name: PathText) -> Response[Namespace]:
        """Get a namespace."""
        return answer(_find_namespace(service, unquote(name)))

    @put("/{name:str}", opt=WRITES_PATH, sync_to_thread=True)
    def put_namespace(
        self, service: Service, name: PathText, data: NewNamespace
    ) -> Response[Namespace]:
        """Create a namespace or change its owner."""
        space = _checked(unquote(name))
        _refuse_nul(ownerName=data.owner_name, description=data.description)
        service.change(changes.put_namespace, space, owner=data.owner_name, text=data.description)
        return answer(_find_namespace(service, space))

    @delete("/{name:str}", opt=ADMINISTERS_PATH, status_code=200, sync_to_thread=True)
    def delete_namespace(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        name: PathText,
    ) -> Response[Namespace]:
        """Hide a namespace with its jobs and datasets."""
        space = unquote(name)
        _find_namespace(service, space)
        service.delete(request, changes.hide_namespace, space)
        return answer(_find_namespace(service, space))


def _checked(name: str) -> str:
    try:
        check_text(name, "name", MAX_NAME)
    except EventRejected as error:
        raise BadParameters(error.message) from None
    return name


def _refuse_nul(**texts: str | None) -> None:
    """See that texts can be stored: PostgreSQL has no NUL character.

    Raises: BadParameters, naming the field.
    """
    for field, text in texts.items():
        if text is not None and "\0" in text:
            raise BadParameters(f"{field}: holds a NUL character")


def _namespace(row: Any) -> Namespace:
    name, created, updated, owner, text, hidden = row
    return Namespace(name, moment(created), moment(updated), owner, text, bool(hidden))


def _find_namespace(service: Service, name: str) -> Namespace:
    with service.open_view() as view:
        rows = view.session.all(f"{_NAMESPACE} WHERE name = ?", name)
    if not rows:
        raise NotFound("Namespace", name)
    return _namespace(rows[0])


class Sources(Controller):
    """Sources."""

    tags = ("Sources",)
    path = "/api/v1/sources"

    @get("/", opt=READS_ALL, sync_to_thread=True)
    def list_sources(
        self, service: Service, limit: Limit = 100, offset: Offset = 0
    ) -> Response[SourcePage]:
        """List all sources, by name."""
        with service.open_view() as view:
            rows = view.session.all(
                f"{_SOURCE} ORDER BY name LIMIT ? OFFSET ?", bounded(limit), bounded(offset)
            )
        return answer(SourcePage([_source(row) for row in rows]))

    @get("/{name:str}", opt=READS_ALL, sync_to_thread=True)
    def get_source(self, service: Service, name: PathText) -> Response[Source]:
        """Get a source."""
        return answer(_find_source(service, unquote(name)))

    @put("/{name:str}", opt=WRITES_ALL, sync_to_thread=True)
    def put_source(self, service: Service, name: PathText, data: NewSource) -> Response[Source]:
        """Create or change a source."""
        space = _checked(unquote(name))
        _refuse_nul(type=data.type, connectionUrl=data.connection_url, description=data.description)
        service.change(
            changes.put_source, space,
            kind=data.type, url=data.connection_url, text=data.description,
        )  # fmt: skip
        return answer(_find_source(service, space))


def _source(row: Any) -> Source:
    kind, name, created, updated, url, text = row
    return Source(kind, name, moment(created), moment(updated), url, text)


def _find_source(service: Service, name: str) -> Source:
    with service.open_view() as view:
        rows = view.session.all(f"{_SOURCE} WHERE name = ?", name)
    if not rows:
        raise NotFound("Source", name)
    return _source(rows[0])


class Tags(Controller):
    """Tags."""

    tags = ("Tags",)
    path = "/api/v1/tags"

    @get("/", opt=READS_ALL, sync_to_thread=True)
    def list_tags(
        self, service: Service, limit: Limit = 100, offset: Offset = 0
    ) -> Response[TagPage]:
        """List all tags."""
        with service.open_view() as view:
            rows = view.session.all(
                "SELECT name, description FROM tag ORDER BY name LIMIT ? OFFSET ?",
                bounded(limit), bounded(offset),
            )  # fmt: skip
        return answer(TagPage([Tag(*row) for row in rows]))

    @put("/{name:str}", opt=WRITES_ALL, sync_to_thread=True)
    def put_tag(self, service: Service, name: PathText, data: NewTag) -> Response[Tag]:
        """Create a tag or change its description."""
        tag = _checked(unquote(name))
        _refuse_nul(description=data.description)
        service.change(changes.put_tag, tag, text=data.description)
        with service.open_view() as view:
            found = view.session.all("SELECT name, description FROM tag WHERE name = ?", tag)
        return answer(Tag(*found[0]))


class Search(Controller):
    """Search and statistics."""

    tags = ("Search",)
    path = "/api/v1"

    @get("/search", opt=READS_QUERY, sync_to_thread=True)
    def get_search(
        self,
        service: Service,
        q: Text,
        kind: SearchFilter = None,
        sort: OptionalWord = None,
        limit: Limit = 10,
        namespace: OptionalText = None,
        before: Time = None,
        after: Time = None,
        types: SearchTypes = None,
    ) -> Response[SearchPage]:
        """Find jobs and datasets, or columns, by part of their name.

        With `types` the best of all of them, run ids and misspelt names included.
        """
        if not q.strip():
            raise BadParameters("query param q must not be blank")
        if types is not None:
            return _search_all(service, q.strip(), types, namespace, bounded(limit))
        if kind is not None and kind.upper() not in ("DATASET", "JOB", "FIELD"):
            raise BadRequest(detail="query param filter must be one of [DATASET, JOB, FIELD]")
        wanted = Wanted(
            q.strip(), kind.upper() if kind else None, namespace,
            _day("after", after), _day("before", before), (sort or "").lower() == "name",
        )  # fmt: skip
        with service.open_view() as view:
            found, total = search(view, wanted, bounded(limit))
        return answer(SearchPage(found, total))

    @get("/stats/{asset:str}", opt=READS_ALL, sync_to_thread=True)
    def get_stats(
        self,
        service: Service,
        asset: PathText,
        period: OptionalWord = None,
        timezone: OptionalWord = None,
    ) -> Response[list[EventCounts] | list[AssetCounts]]:
        """Count events, jobs, datasets or sources per hour of a day or per day of a week."""
        if asset not in ("lineage-events", "jobs", "datasets", "sources"):
            raise BadRequest(detail="HTTP 404 Not Found", status_code=404)
        if period is None:
            return _refused("Invalid period")
        if period.upper() not in ("DAY", "WEEK"):
            raise BadRequest(detail="query param period must be one of [DAY, WEEK]")
        if period.upper() == "WEEK" and timezone is None:
            return _refused("Timezone must be specified for period 'WEEK'")
        spans = stats.intervals(period.upper(), _zone(timezone), clock())
        with service.open_view() as view:
            return answer(_counts(view, asset, spans))


def _search_all(
    service: Service, text: str, types: str, namespace: str | None, limit: int
) -> Response[SearchPage]:
    wanted = [word.strip().lower() for word in types.split(",") if word.strip()]
    if not wanted or not {*wanted} <= {*TYPES}:
        raise BadRequest(detail=f"query param types must be some of {[*TYPES]}")
    with service.open_view() as view:
        found = search_all(view, text, wanted, namespace, limit)
    return answer(SearchPage(found, len(found)))


def _refused(reason: str) -> Response[Any]:
    return answer(reason, 400)


def _counts(
    view: StoreView, asset: str, spans: list[tuple[datetime, datetime]]
) -> list[EventCounts] | list[AssetCounts]:
    if asset == "lineage-events":
        return stats.event_counts(view, spans)
    return stats.asset_counts(view, asset, spans)


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadRequest(detail=f"query param timezone: {name!r} is not a time zone") from None


def _day(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not _DAY.fullmatch(text):
        raise BadParameters(f'query param {name} must match "^\\d{{4}}-\\d{{2}}-\\d{{2}}$"')
    try:
        return parse_moment(text)
    except (ValueError, OverflowError) as error:
        raise BadParameters(f"query param {name}: {error}") from None
