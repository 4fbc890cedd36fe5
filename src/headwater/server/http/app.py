"""Puts the server together: store, readers, API, and what runs beside them."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Response, Router
from litestar.concurrency import set_asyncio_executor
from litestar.config.cors import CORSConfig
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi import OpenAPIConfig
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.types import ASGIApp

from headwater.errors import EventRejected, HeadwaterError, StoreError
from headwater.http.addresses import forgetting_long_addresses
from headwater.http.checks import RequestChecks, is_loopback
from headwater.openlineage.times import now
from headwater.server.http import errors as problems
from headwater.server.http.access import ANYONE
from headwater.server.http.authentication import Authenticator
from headwater.server.http.docs import AnswerSchemas, ApiPage, Documents
from headwater.server.http.ingest_fast_path import with_fast_ingest
from headwater.server.http.limited_answers import limited_answers
from headwater.server.http.masked_paths import masked_paths
from headwater.server.http.middleware import timed, with_safe_headers
from headwater.server.http.page import page
from headwater.server.http.parameters import MOST_BODY
from headwater.server.http.routes.catalog import Namespaces, Search, Sources, Tags
from headwater.server.http.routes.datasets import Datasets
from headwater.server.http.routes.event_search import EventSearch
from headwater.server.http.routes.health import Health
from headwater.server.http.routes.history import History
from headwater.server.http.routes.impact import Impact
from headwater.server.http.routes.jobs import Jobs
from headwater.server.http.routes.lineage import Lineage
from headwater.server.http.routes.listing import Listing
from headwater.server.http.routes.overview import Overview
from headwater.server.http.routes.pipelines import Pipelines
from headwater.server.http.routes.reached import Reached
from headwater.server.http.routes.resolve import Resolve
from headwater.server.http.routes.run_lineage import RunLineage
from headwater.server.http.routes.runs import Runs
from headwater.server.http.routes.session import Session
from headwater.server.http.routes.stream import Streams
from headwater.server.http.routes.topics import KafkaTopics
from headwater.server.http.routes.why import Why
from headwater.server.http.sending import HeldAnswers, with_bounded_answers
from headwater.server.ingest.kafka_consumer import Topic, TopicReader
from headwater.server.ingest.lane import Lane
from headwater.server.ingest.scrubbing import Scrubber
from headwater.server.lineage.view import StoreViews
from headwater.server.live.feed import Live
from headwater.server.memory import give_back
from headwater.server.metrics import LAPSED
from headwater.server.service import Service
from headwater.server.settings import Settings
from headwater.server.store.aliases import AliasRules
from headwater.server.store.changes import put_namespace
from headwater.server.store.commit import Commit
from headwater.server.store.database import Errors
from headwater.server.store.feed import prune_feed
from headwater.server.store.hooks import list_hooks
from headwater.server.store.leases import Leases
from headwater.server.store.prune import prune
from headwater.server.store.store import Store
from headwater.server.topics.topics import Topics
from headwater.version import __version__

if TYPE_CHECKING:
    from headwater.server.clusters import Clusters

_log = logging.getLogger(__name__)
_FEED = 50_000  # entries that those who were away can still be told
_PRUNE_EVERY = 60.0
_CLEAN_EVERY = 3600.0
_LOOK_EVERY = 1.0
_CHECK_KEYS_EVERY = 1.0
_READERS = 8  # threads that answer questions
_HANDLERS = (
    Lineage,
    History,
    Impact,
    Reached,
    Why,
    Overview,
    Streams,
    Listing,
    EventSearch,
    Namespaces,
    Sources,
    Datasets,
    Jobs,
    Runs,
    RunLineage,
    Tags,
    Search,
    Resolve,
    Pipelines,
    KafkaTopics,
    Session,
    Health,
    Documents,
)


def make_app(settings: Settings) -> ASGIApp:
    """The server as an ASGI application.

    Raises: UnknownStore, StoreUnreachable.
    """
    return assemble(settings)[0]


def assemble(settings: Settings) -> tuple[ASGIApp, Service]:
    """The server as an ASGI application, and its parts.

    Raises: UnknownStore, StoreUnreachable.
    """
    rules, scrubber = AliasRules(settings.aliases), Scrubber(settings.mask)
    tolerance, max_event = settings.clock_tolerance, settings.max_event
    store = Store(settings.store, rules, scrubber, tolerance, max_event)
    # Of their own: keys and leases are checked in the threads of the event loop, which must not
    # wait for questions.
    set_asyncio_executor(ThreadPoolExecutor(_READERS, "reader"))
    store.writer.change(_first_namespace).result()
    live = Live(store.database, settings.live_check)
    store.writer.committed, store.writer.rested = live.nudge, give_back
    clusters, topics = _clusters(settings), Topics(settings.kafka, store.scrubber)
    is_open = settings.open or is_loopback(settings.host)
    views = StoreViews(store.database, store.rules)
    authenticator = Authenticator(store, views, is_open=is_open, rate=settings.rate)
    lane = Lane(2 * settings.max_body)
    service = Service(store, views, settings, live, clusters, authenticator, topics, lane)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        live.start()
        readers = [TopicReader(Topic.parse(url), store) for url in settings.consume]
        for topic in readers:
            topic.start()
        beside = [
            asyncio.create_task(_watch_leases(store, settings.lease_check)),
            asyncio.create_task(_prune_feed(store)),
            asyncio.create_task(_call_webhooks(store, views)),
            asyncio.create_task(_prune(store, settings.keep)),
            asyncio.create_task(_end_streams(live, authenticator)),
        ]
        try:
            yield
        finally:
            await live.stop()
            for topic in readers:
                await asyncio.to_thread(topic.stop)
            for task in beside:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            if clusters is not None:
                await clusters.close()
            topics.close()
            lane.close()
            await asyncio.to_thread(store.close)

    api = forgetting_long_addresses(make_api(service, lifespan))
    return _wrapped(api, service), service


def make_api(service: Service, lifespan: Any = None) -> Litestar:
    """Every route, behind the one guard."""

    def given(scope: Any) -> Any:  # a type would be checked in every request
        return service.limited_to(scope["state"].get("key"))

    return _Plain(
        [*_HANDLERS],
        middleware=[
            partial(masked_paths, mask=service.store.scrubber.name),
            service.authenticator.guard,
        ],
        dependencies={
            "service": Provide(given, sync_to_thread=False)
        },
        exception_handlers={
            kind: problems.letting_go(handler) for kind, handler in _on_errors(service).items()
        },
        lifespan=[lifespan] if lifespan else [],
        request_max_body_size=min(service.settings.max_body, MOST_BODY),
        openapi_config=OpenAPIConfig(
            title="Headwater",
            version=__version__,
            description="Live data lineage: OpenLineage in, Marquez's API out.",
            openapi_router=Router("/api/docs", route_handlers=[], opt=ANYONE),
            render_plugins=[ApiPage()],
        ),
        cors_config=_cors(service.settings),
        debug=False,
    )  # fmt: skip


def _on_errors(service: Service) -> dict[type[Exception], Callable[..., Response[bytes]]]:
    return {
        ValidationException: problems.on_validation,
        HTTPException: problems.on_http,
        EventRejected: problems.on_rejected,
        HeadwaterError: problems.on_known,
        **dict.fromkeys(service.store.database.errors, problems.on_database),
        RecursionError: problems.on_recursion,
        Exception: problems.on_bug,
    }


def _wrapped(app: ASGIApp, service: Service) -> ASGIApp:
    """The API behind what every request passes, outermost first."""
    settings, held = service.settings, HeldAnswers()
    layers: tuple[Callable[[ASGIApp], ASGIApp], ...] = (
        timed,
        partial(with_safe_headers, is_tls=settings.tls_cert is not None),
        partial(
            RequestChecks,
            checks_host=lambda: bool(settings.hosts) or _trusts_machine(service),
            hosts=frozenset(settings.hosts),
            origins=frozenset(settings.cors),
        ),
        partial(with_fast_ingest, service=service),
        partial(with_bounded_answers, held=held),
        page,
        partial(limited_answers, lane=service.lane, held=held),
    )
    for layer in reversed(layers):
        app = layer(app)
    return app


def _trusts_machine(service: Service) -> bool:
    """Whether everyone on this machine, and only they, may do everything."""
    return not service.settings.open and not service.authenticator.is_required


def _cors(settings: Settings) -> CORSConfig | None:
    if not settings.cors:
        return None
    return CORSConfig(
        allow_origins=[*settings.cors],
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["authorization", "content-type", "last-event-id"],
    )


class _Plain(Litestar):
    """Litestar for handlers that speak msgspec only: others' models take a while to import."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin(), AnswerSchemas()]


def _first_namespace(commit: Commit) -> None:
    if not commit.session.all("SELECT 1 FROM namespace WHERE name = 'default'"):
        put_namespace(commit, "default", "anonymous", "Where things go that name no other")


# An HTTP client takes a third of a second to import: those who call nobody do without.
def _clusters(settings: Settings) -> "Clusters | None":
    if not settings.connect:
        return None
    from headwater.server.clusters import Clusters  # noqa: PLC0415

    return Clusters(settings.connect)


async def _call_webhooks(store: Store, views: StoreViews) -> None:
    while not await asyncio.to_thread(_has_webhooks, store):
        await asyncio.sleep(_LOOK_EVERY)
    from headwater.server.live.webhooks import Webhooks  # noqa: PLC0415

    await Webhooks(store, views).run()


def _has_webhooks(store: Store) -> bool:
    try:
        with store.database.reading() as session:
            return bool(list_hooks(session))
    except store.database.errors:
        return False


async def _watch_leases(store: Store, every: float) -> None:
    leases = Leases(store, every)
    while True:
        await asyncio.sleep(every)
        with _going_on(store, "leases could not be checked"):
            LAPSED.inc(await asyncio.to_thread(leases.expire))
            await asyncio.to_thread(store.apply_deferred)


async def _end_streams(live: Live, authenticator: Authenticator) -> None:
    """Let those go who watch with a key that is revoked, or without one where one is needed."""
    while True:
        await asyncio.sleep(_CHECK_KEYS_EVERY)
        await authenticator.refresh_soon()
        live.keep(authenticator.still_allows)


async def _prune(store: Store, keep: float) -> None:
    while keep > 0:
        await asyncio.sleep(min(_CLEAN_EVERY, keep / 2))
        with _going_on(store, "old events could not be deleted"):
            found = await asyncio.to_thread(prune, store, now() - int(keep * 1e6))
            if any(found):
                _log.info("deleted %d events and %d runs", *found)


async def _prune_feed(store: Store) -> None:
    while True:
        await asyncio.sleep(_PRUNE_EVERY)
        with _going_on(store, "the feed could not be pruned"):
            change = store.writer.change(lambda commit: prune_feed(commit.session, _FEED))
            await asyncio.wrap_future(change)


@contextmanager
def _going_on(store: Store, failed: str) -> Iterator[None]:
    """Log what failed, and go on: an outage in one line, a fault of ours with its traceback."""
    outages: Errors = (StoreError, *store.database.errors)
    try:
        yield
    except outages as error:
        _log.warning("%s: %s", failed, str(error).partition("\n")[0])
    except Exception:
        _log.exception("%s", failed)
