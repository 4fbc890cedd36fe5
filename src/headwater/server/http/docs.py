"""The browsable page of the API, served from here: it needs no network."""

from importlib.util import find_spec
from pathlib import Path

from litestar import Controller, Response, get
from litestar.openapi.plugins import SwaggerRenderPlugin

from headwater.server.http.errors import NotFound

# Only its files are wanted: importing the package would look for web frameworks.
_PACKAGE = find_spec("swagger_ui")
_FILES = Path(str(_PACKAGE and _PACKAGE.origin)).parent / "static"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".png": "image/png"}
_PLACE = "/api/docs-assets"


def swagger() -> SwaggerRenderPlugin:
    """Swagger's page, with our copies of its files."""
    return SwaggerRenderPlugin(
        js_url=f"{_PLACE}/swagger-ui-bundle.js",
        css_url=f"{_PLACE}/swagger-ui.css",
        standalone_preset_js_url=f"{_PLACE}/swagger-ui-standalone-preset.js",
        favicon="<link rel='icon' href='data:,'>",
        path="/",
    )


class Documents(Controller):
    """Files of the API page."""

    include_in_schema = False

    @get(f"{_PLACE}/{{name:str}}", sync_to_thread=True)
    def asset(self, name: str) -> Response[bytes]:
        """One file."""
        found = _FILES / name
        if found.suffix not in _KINDS or found.parent != _FILES or not found.is_file():
            raise NotFound("File", name)
        return Response(found.read_bytes(), media_type=_KINDS[found.suffix])
