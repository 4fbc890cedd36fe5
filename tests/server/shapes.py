"""Holds answers against the shapes that the API's description declares for them."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import jsonschema_rs

# Events are sent on as they came, with whatever their producers put into them.
_AS_REPORTED = {"LineageEvent", "EventRun", "EventPart"}
_DOCUMENT = "/api/docs/openapi.json"
_declared: list["_Declared"] = []  # one description holds for every server


class _Declared(NamedTuple):
    """What a method of a path answers; `reduced` is for a key that may see only names."""

    method: str
    path: str
    pattern: re.Pattern[str]
    whole: jsonschema_rs.Validator
    reduced: jsonschema_rs.Validator


def check_answers(client: httpx.Client) -> None:
    """Let every answer to a client be checked: it has no member too many, and none too few."""
    client.event_hooks["response"].append(lambda answer: _check(client, answer))


def declared_paths(method: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The paths whose answers to a method are declared, after the first answer was checked."""
    yield from ((one.path, one.pattern) for one in _declared if one.method == method)


def _check(client: httpx.Client, answer: httpx.Response) -> None:
    path = answer.request.url.raw_path.decode().partition("?")[0]
    if not answer.is_success or path == _DOCUMENT:
        return
    if not answer.headers.get("content-type", "").startswith("application/json"):
        return
    if not _declared:
        _declared.extend(_read(client.get(_DOCUMENT).json()))
    body = answer.read()
    for one in _declared if body else ():
        if one.method == answer.request.method and one.pattern.fullmatch(path):
            has_key = "authorization" in answer.request.headers
            problem = _problem(one.reduced if has_key else one.whole, body)
            assert problem is None, f"{answer.request.method} {answer.request.url}: {problem}"
            return


def _problem(shape: jsonschema_rs.Validator, body: bytes) -> str | None:
    errors = shape.iter_errors(json.loads(body))
    return next((f"{error.message[:500]} at {error.instance_path}" for error in errors), None)


def _read(document: dict[str, Any]) -> Iterator[_Declared]:
    strict = {
        name: schema if name in _AS_REPORTED else schema | {"additionalProperties": False}
        for name, schema in document["components"]["schemas"].items()
    }
    lenient = {name: schema | {"required": []} for name, schema in copy.deepcopy(strict).items()}
    for path, methods in document["paths"].items():
        pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)).replace("\\-", "-"))
        for method, told in methods.items():
            for code, answer in told["responses"].items():
                declared = answer.get("content", {}).get("application/json", {}).get("schema")
                if code.startswith("2") and declared:
                    yield _Declared(
                        method.upper(), path, pattern, _validator(declared, strict),
                        _validator(declared, lenient),
                    )  # fmt: skip


def _validator(declared: dict[str, Any], schemas: dict[str, Any]) -> jsonschema_rs.Validator:
    whole = {**declared, "components": {"schemas": schemas}}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
