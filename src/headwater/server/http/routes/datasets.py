"""Datasets, their versions and tags."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from litestar import Controller, Request, Response, delete, get, post, put

from headwater.api.datasets import Dataset, DatasetPage, DatasetVersion, DatasetVersionPage
from headwater.api.requests import NewDataset
from headwater.server.http import legacy_events
from headwater.server.http.access import ADMINISTERS_PATH, READS_PATH, WRITES_PATH
from headwater.server.http.common import answer, bounded, dataset_of, require_namespace
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.limited_events import ingest_reported
from headwater.server.http.parameters import Limit, Offset, PathText
from headwater.server.lineage.schemas import schemas_of
from headwater.server.lineage.view import StoreView, uuid_bytes
from headwater.server.marquez import dataset_versions, datasets
from headwater.server.service import Service
from headwater.server.store import changes

_ONE = "/{namespace:str}/datasets/{name:str}"


class Datasets(Controller):
    """Datasets."""

    tags = ("Datasets",)
    path = "/api/v1/namespaces"

    @get("/{namespace:str}/datasets", opt=READS_PATH, sync_to_thread=True)
    def list_datasets(
        self, service: Service, namespace: PathText, limit: Limit = 100, offset: Offset = 0
    ) -> Response[DatasetPage]:
        """List the datasets of a namespace, by name."""
        space = unquote(namespace)
        with service.open_view() as view:
            require_namespace(view, space)
            found, total = datasets.list_datasets(view, space, bounded(limit), bounded(offset))
            return answer(DatasetPage(total, found))

    @get(_ONE, opt=READS_PATH, sync_to_thread=True)
    def get_dataset(
        self, service: Service, namespace: PathText, name: PathText
    ) -> Response[Dataset]:
        """Get a dataset with all its details."""
        with service.open_view() as view:
            return answer(_one(view, dataset_of(view, namespace, name)))

    @put(_ONE, opt=WRITES_PATH, sync_to_thread=True)
    def put_dataset(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        data: NewDataset,
    ) -> Response[Dataset]:
        """Create or change a dataset, like a dataset event."""
        event = legacy_events.dataset_event(
            unquote(namespace), unquote(name), data.fields, data.source_name, data.description
        )
        ingest_reported(service, request, event)
        return self._read(service, namespace, name)

    @delete(_ONE, opt=ADMINISTERS_PATH, status_code=200, sync_to_thread=True)
    def delete_dataset(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
    ) -> Response[Dataset]:
        """Delete a dataset. It reappears when an event names it again."""
        with service.open_view() as view:
            number = dataset_of(view, namespace, name)
            found = _one(view, number)
        found.column_lineage = None
        service.delete(request, changes.hide, "dataset", number)
        return answer(found)

    @get(f"{_ONE}/versions", opt=READS_PATH, sync_to_thread=True)
    def list_versions(
        self,
        service: Service,
        namespace: PathText,
        name: PathText,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[DatasetVersionPage]:
        """List the versions of a dataset, latest first."""
        with service.open_view() as view:
            number = dataset_of(view, namespace, name)
            found, total = dataset_versions.list_versions(
                view, number, bounded(limit), bounded(offset)
            )
            return answer(DatasetVersionPage(found, total))

    @get(f"{_ONE}/versions/{{version:str}}", opt=READS_PATH, sync_to_thread=True)
    def get_version(
        self, service: Service, namespace: PathText, name: PathText, version: PathText
    ) -> Response[DatasetVersion]:
        """Get a version of a dataset."""
        wanted = uuid_bytes(version)
        if wanted is None:
            raise BadRequest(detail="HTTP 404 Not Found", status_code=404)
        with service.open_view() as view:
            number = dataset_of(view, namespace, name)
            found = dataset_versions.find_version(view, number, wanted)
        if found is None:
            raise NotFound("Dataset version", version)
        return answer(found)

    @post(f"{_ONE}/tags/{{tag:str}}", opt=WRITES_PATH, status_code=200, sync_to_thread=True)
    def add_tag(
        self, service: Service, namespace: PathText, name: PathText, tag: PathText
    ) -> Response[Dataset]:
        """Add a tag to a dataset."""
        add = partial(service.change, changes.add_tag)
        return self._tag(service, add, namespace, name, "", unquote(tag))

    @delete(f"{_ONE}/tags/{{tag:str}}", opt=ADMINISTERS_PATH, status_code=200, sync_to_thread=True)
    def drop_tag(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        tag: PathText,
    ) -> Response[Dataset]:
        """Remove a tag from a dataset."""
        drop = partial(service.delete, request, changes.drop_tag)
        return self._tag(service, drop, namespace, name, "", unquote(tag))

    @post(
        f"{_ONE}/fields/{{field:str}}/tags/{{tag:str}}",
        opt=WRITES_PATH,
        status_code=200,
        sync_to_thread=True,
    )
    def add_field_tag(
        self, service: Service, namespace: PathText, name: PathText, field: PathText, tag: PathText
    ) -> Response[Dataset]:
        """Add a tag to a field; the name is stored in upper case."""
        upper, add = unquote(tag).upper(), partial(service.change, changes.add_tag)
        return self._tag(service, add, namespace, name, unquote(field), upper)

    @delete(
        f"{_ONE}/fields/{{field:str}}/tags/{{tag:str}}",
        opt=ADMINISTERS_PATH,
        status_code=200,
        sync_to_thread=True,
    )
    def drop_field_tag(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        field: PathText,
        tag: PathText,
    ) -> Response[Dataset]:
        """Remove a tag from a field."""
        upper, drop = unquote(tag).upper(), partial(service.delete, request, changes.drop_tag)
        return self._tag(service, drop, namespace, name, unquote(field), upper)

    def _read(self, service: Service, namespace: str, name: str) -> Response[Dataset]:
        with service.open_view() as view:
            found = _one(view, dataset_of(view, namespace, name))
            return answer(found)

    def _tag(
        self, service: Service, change: Callable[..., None], namespace: str, name: str, field: str,
        tag: str,
    ) -> Response[Dataset]:  # fmt: skip
        with service.open_view() as view:
            number = dataset_of(view, namespace, name)
            if field:
                schema = schemas_of(view, [number]).get(number)
                if schema is None or field not in schema.names:
                    detail = f"Field '{field}' not found for dataset '{unquote(name)}'."
                    raise BadRequest(detail=detail, status_code=404)
        change("DATASET", number, field, tag)
        with service.open_view() as view:
            found = _one(view, number)
        # Marquez leaves this out of what it answers here, and its page fetches again.
        found.column_lineage = None
        return answer(found)


def _one(view: StoreView, number: int) -> Dataset:
    return datasets.datasets(view, [number])[0]
