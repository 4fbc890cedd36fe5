"""Raw events that hold a text."""

from typing import Any

from litestar import Controller, MediaType, Response, get

from headwater.api.events import FoundEvents
from headwater.openlineage.times import FOREVER
from headwater.server.http.access import READS_ALL
from headwater.server.http.errors import BadRequest
from headwater.server.http.parameters import EventTypes, Next, ShortLimit, Text, Word
from headwater.server.lineage import event_search, events
from headwater.server.service import Service


class EventSearch(Controller):
    """Looking through events."""

    tags = ("Listing",)
    path = "/api/v1/events/search"

    @get("/", opt=READS_ALL, sync_to_thread=True)
    def search_events(
        self,
        service: Service,
        q: Text = "",
        kind: Word = "all",
        types: EventTypes = None,
        start: Next = None,
        limit: ShortLimit = 50,
    ) -> Response[FoundEvents]:
        """Find events that contain a text, newest first. A response can cover a part of the log."""
        if kind not in events.KINDS:
            raise BadRequest(detail=f"query param kind must be one of {[*events.KINDS]}")
        try:
            cursor = event_search.LogCursor.parse(start or f"{FOREVER}.{FOREVER}")
        except ValueError:
            raise BadRequest(detail="query param from must be `next` of an answer") from None
        with service.open_view() as view:
            found = event_search.search(view, q, kind, types or [], cursor, limit)
            body: Any = event_search.as_answer(found)
        return Response(body, media_type=MediaType.JSON)
