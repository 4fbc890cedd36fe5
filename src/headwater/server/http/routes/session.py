"""Who one is to the server, and what was done by whom."""

from typing import Any

from litestar import Controller, Request, Response, get

from headwater.api.catalog import AuditEntry, AuditPage, SessionInfo
from headwater.http.keys import SCOPES
from headwater.server.http.access import ADMINISTERS_ALL, ANYONE
from headwater.server.http.common import answer, bounded
from headwater.server.http.errors import KeyRequired
from headwater.server.http.parameters import Limit, Offset
from headwater.server.lineage.view import moment
from headwater.server.service import Service
from headwater.server.store.keys import read_audit


class Session(Controller):
    """Keys and the audit log."""

    tags = ("Operations",)
    path = "/api/v1"

    @get("/session", opt=ANYONE)
    async def get_session(
        self, service: Service, request: Request[Any, Any, Any]
    ) -> Response[SessionInfo]:
        """Get whether a key is required, and what the given key allows."""
        key = await service.authenticator.find(request.scope)
        required = service.authenticator.is_required
        if key is None and required and "authorization" in request.headers:
            raise KeyRequired(is_given=True)
        scopes = [scope for scope in SCOPES if key.may(scope)] if key else None
        return answer(SessionInfo(required, scopes, key.name if key else None))

    @get("/audit", opt=ADMINISTERS_ALL, sync_to_thread=True)
    def get_audit(
        self, service: Service, limit: Limit = 100, offset: Offset = 0
    ) -> Response[AuditPage]:
        """List admin actions and deletions, latest first."""
        with service.open_view() as view:
            rows = read_audit(view.session, bounded(limit), bounded(offset))
        return answer(AuditPage([AuditEntry(moment(at), *told) for at, *told in rows]))
