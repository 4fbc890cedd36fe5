"""The browsable page of the API, served from here: it needs no network."""

from pathlib import Path

import swagger_ui_bundle
from litestar import Controller, Response, get
from litestar.openapi.plugins import SwaggerRenderPlugin

from headwater.server.api.problems import NotFound

_FILES = Path(swagger_ui_bundle.__file__).parent / "vendor"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".png": "image/png"}
_PLACE = "/api/docs-assets"


def swagger() -> SwaggerRenderPlugin:
    """Swagger's page, with our copies of its files."""
    return SwaggerRenderPlugin(
        js_url=f"{_PLACE}/swagger-ui-bundle.js",
        css_url=f"{_PLACE}/swagger-ui.css",
        standalone_preset_js_url=f"{_PLACE}/swagger-ui-standalone-preset.js",
        path="/",
    )


class Documents(Controller):
    """Files of the API page."""

    include_in_schema = False

    @get(f"{_PLACE}/{{name:str}}", sync_to_thread=True)
    def asset(self, name: str) -> Response[bytes]:
        """One file."""
        found = next((f for f in _FILES.rglob(name) if f.suffix in _KINDS), None)
        if "/" in name or found is None:
            raise NotFound("File", name)
        return Response(found.read_bytes(), media_type=_KINDS[found.suffix])
