"""The schema registry, through Confluent's API."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NewType
from urllib.parse import quote

import httpx
import msgspec

from headwater.errors import RegistryRefused

SchemaId = NewType("SchemaId", int)
HEADER = 5  # bytes before a record in Confluent's format: a zero, and its schema's id
_TIMEOUT_S = 30
_NOT_FOUND, _BUSY, _SERVER_ERROR = 404, 429, 500


class Schema(msgspec.Struct, frozen=True):
    """One registered schema."""

    id: SchemaId
    text: str
    kind: str = "AVRO"
    references: Mapping[str, str] = {}  # the texts that it imports, by their path


class Registry:
    """Registers schemas and finds them again."""

    def __init__(self, url: str, user_info: str = "", client: httpx.Client | None = None) -> None:
        self.url, self._client = url.rstrip("/"), client
        user, _, password = user_info.partition(":")
        self._auth = httpx.BasicAuth(user, password) if user_info else None

    def register(self, subject: str, text: str, kind: str = "AVRO") -> SchemaId:
        """The id of a schema under a subject, new or as it was.

        Raises:
            RegistryRefused: the registry cannot be reached or finds the schema incompatible.

        """
        body = {"schema": text} if kind == "AVRO" else {"schema": text, "schemaType": kind}
        answer = self._ask("POST", f"/subjects/{quote(subject, '')}/versions", body)
        return SchemaId(answer["id"])

    def subjects(self) -> list[str]:
        """The names of all subjects."""
        return [str(one) for one in self._ask("GET", "/subjects")]

    def numbers(self, subject: str) -> list[int]:
        """The numbers of a subject's versions, the oldest first; none when it is not there."""
        path = f"/subjects/{quote(subject, '')}/versions"
        return sorted(self._ask("GET", path, missing=[]))

    def version(self, subject: str, number: int) -> Schema:
        """One version of a subject."""
        found = self._ask("GET", f"/subjects/{quote(subject, '')}/versions/{number}")
        return self._schema(SchemaId(found["id"]), found)

    def versions(self, subject: str) -> list[Schema]:
        """Every version of a subject, the oldest first; none when it is not there."""
        return [self.version(subject, number) for number in self.numbers(subject)]

    def by_id(self, schema_id: SchemaId) -> Schema | None:
        """The schema with an id, if the registry knows it."""
        found = self._ask("GET", f"/schemas/ids/{schema_id}", missing={})
        if not found:
            return None
        return self._schema(schema_id, found)

    def _schema(self, schema_id: SchemaId, found: Mapping[str, Any]) -> Schema:
        kind, references = found.get("schemaType") or "AVRO", self._references(found)
        return Schema(schema_id, found["schema"], kind, references)

    def _references(self, found: Mapping[str, Any]) -> dict[str, str]:
        texts: dict[str, str] = {}
        for one in found.get("references") or []:
            path = f"/subjects/{one['subject']}/versions/{one['version']}"
            answer = self._ask("GET", path)
            texts |= {one["name"]: answer["schema"], **self._references(answer)}
        return texts

    def _ask(self, method: str, path: str, body: object = None, missing: Any = None) -> Any:
        # One that is given keeps its connections; without one a registry can be pickled.
        asking = (
            self._client.request if self._client else partial(httpx.request, timeout=_TIMEOUT_S)
        )
        try:
            answer = asking(method, self.url + path, json=body, auth=self._auth)
        except httpx.HTTPError as error:
            raise RegistryRefused(path, str(error), transient=True) from error
        if answer.status_code == _NOT_FOUND and missing is not None:
            return missing
        if answer.is_error:
            reason = f"{answer.status_code} {answer.text[:300]}"
            away = answer.status_code >= _SERVER_ERROR or answer.status_code == _BUSY
            raise RegistryRefused(path, reason, transient=away)
        return answer.json()
