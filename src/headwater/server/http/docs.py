"""The API's description, and a page to browse it, served from here: it needs no network."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from litestar import Controller, Request, Response, get
from litestar._openapi.schema_generation.plugins.struct import StructSchemaPlugin
from litestar.openapi.plugins import OpenAPIRenderPlugin
from litestar.typing import FieldDefinition

from headwater.api.base import Answer
from headwater.server.http.access import ANYONE
from headwater.server.http.errors import NotFound

# Only its files are wanted: importing the package would look for web frameworks.
_PACKAGE = find_spec("swagger_ui")
_FILES = Path(str(_PACKAGE and _PACKAGE.origin)).parent / "static"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".png": "image/png"}
_PLACE = "/api/docs-assets"


_START = "start.js"
_SCRIPT = b"""SwaggerUIBundle({
  url: "/api/docs/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  syntaxHighlight: false,
});
"""
_PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Headwater's API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{_PLACE}/swagger-ui.css">
<div id="docs"></div>
<script src="{_PLACE}/swagger-ui-bundle.js"></script>
<script src="{_PLACE}/{_START}"></script>
</html>
""".encode()


class ApiPage(OpenAPIRenderPlugin):
    """Swagger's page with its files from here, and no script in it: the policy allows none."""

    def __init__(self) -> None:
        super().__init__(path="/")

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """The page; it fetches the description itself."""
        del request, openapi_schema
        return _PAGE


class AnswerSchemas(StructSchemaPlugin):
    """Describes answers: what has a default for those who read it is sent all the same."""

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        """Take what is declared as part of an answer."""
        return not field_definition.is_union and field_definition.is_subclass_of(Answer)

    @staticmethod
    def _is_field_required(field: msgspec.inspect.Field) -> bool:
        is_unset = field.default is field.default_factory is msgspec.NODEFAULT
        return field.required or not is_unset


class Documents(Controller):
    """Files of the API page."""

    include_in_schema = False

    @get(f"{_PLACE}/{{name:str}}", opt=ANYONE, sync_to_thread=True)
    def asset(self, name: str) -> Response[bytes]:
        """One file."""
        if name == _START:
            return Response(_SCRIPT, media_type=_KINDS[".js"])
        found = _FILES / name
        if found.suffix not in _KINDS or found.parent != _FILES or not found.is_file():
            raise NotFound("File", name)
        return Response(found.read_bytes(), media_type=_KINDS[found.suffix])
