"""Every request that the API's own description names, filled in with what a store holds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from server.api import Api

ENDLESS = {"/api/v1/stream"}  # never stops answering


class Operation(NamedTuple):
    """A method of a path, and its parameters."""

    method: str
    path: str
    parameters: list[dict[str, Any]]

    def names(self, place: str) -> list[str]:
        """The names of the parameters that stand in one place: path, query or header."""
        return [p["name"] for p in self.parameters if p["in"] == place]

    def needed(self) -> list[str]:
        """The names of the query parameters that must be given."""
        return [p["name"] for p in self.parameters if p["in"] == "query" and p.get("required")]


def operations(api: Api) -> Iterator[Operation]:
    """All that the server's OpenAPI document describes."""
    described = api.client.get("/api/docs/openapi.json").json()
    for path, methods in described["paths"].items():
        if path.startswith("/api/docs"):
            continue  # the description itself
        for method, told in methods.items():
            yield Operation(method.upper(), path, told.get("parameters", []))


def questions(api: Api, known: Mapping[str, str]) -> list[str]:
    """The address of every GET, with values for path parameters and needed query parameters.

    A key of `known` is a parameter's name; for one path alone it is followed by a space and a
    part of that path, and of several the first that fits is taken.
    """
    found = []
    for asked in operations(api):
        if asked.method != "GET" or asked.path in ENDLESS:
            continue
        values = {name: _value(known, name, asked.path) for name in asked.names("path")}
        path = asked.path.format(**values)
        query = "&".join(f"{name}={_value(known, name, path)}" for name in asked.needed())
        found.append(f"{path}?{query}" if query else path)
    return found


def _value(known: Mapping[str, str], name: str, path: str) -> str:
    for key, value in known.items():
        wanted, _, part = key.partition(" ")
        if wanted == name and part in path:
            return quote(value, "")
    raise AssertionError(f"no value for the parameter {name} of {path}")
