"""What a name means: the node that a person means by it, and what else it could be."""

from typing import Annotated

from litestar import Controller, Response, get
from litestar.params import QueryParameter

from headwater.api.search import Resolution
from headwater.openlineage.events import MAX_NAME
from headwater.server.http.access import READS_SOME
from headwater.server.http.common import answer
from headwater.server.http.errors import BadParameters, BadRequest
from headwater.server.lineage.resolve import TYPES, resolve
from headwater.server.service import Service

_LONGEST = 3 * MAX_NAME  # of a column's node id: its namespace, dataset and name


class Resolve(Controller):
    """What names mean."""

    tags = ("Search",)
    path = "/api/v1/resolve"

    @get("/", opt=READS_SOME, sync_to_thread=True)
    def get_resolution(
        self,
        service: Service,
        name: Annotated[
            str,
            QueryParameter(
                max_length=_LONGEST,
                description="A node id, or a name of a job, dataset or column; with a kind before "
                "it if wanted (table:, topic:, files:, dataset:, job:, column:)",
            ),
        ],
        types: Annotated[
            str | None,
            QueryParameter(
                max_length=128, description="Any of job, dataset and column; default: all"
            ),
        ] = None,
        exact: Annotated[
            bool, QueryParameter(description="Take the name for a node id and nothing else")
        ] = False,
    ) -> Response[Resolution]:
        """Get the node that a name refers to, and the others with that name.

        `node` is empty where nothing has the name (then `suggestions` are spelt like it) and where
        several have it only as a part of theirs (then `others` lists them). A key with namespaces
        is told only of what is in them.
        """
        if not name.strip():
            raise BadParameters("query param name must not be blank")
        wanted = _types(types)
        with service.open_view() as view:
            return answer(resolve(view, name, wanted, is_exact=exact))


def _types(text: str | None) -> tuple[str, ...]:
    if text is None:
        return TYPES
    wanted = tuple(word.strip().upper() for word in text.split(",") if word.strip())
    if not wanted or not {*wanted} <= {*TYPES}:
        raise BadRequest(detail="query param types must be some of ['job', 'dataset', 'column']")
    return wanted
