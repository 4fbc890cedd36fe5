"""`headwater export` and `headwater import`: all events out of a server, and into one."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.cli.options import DEFAULT_SERVER, Server
from headwater.errors import NoEvents, RequestRefused, UsageError
from headwater.openlineage.times import format_moment, parse_moment

if TYPE_CHECKING:
    from rich.progress import Progress

    from headwater.cli.client import Client

_PAGE = 1000
_BATCH = 500
_BATCH_BYTES = 16 * 2**20  # a quarter of the largest body that servers take by default
_FIRST = "0001-01-01T00:00:00Z"  # the earliest time that an event can have
# JSON has line ends only between tokens, where a space means the same.
_ON_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class Cursor(msgspec.Struct):
    """How far events were read: up to a time, and how many of exactly that time."""

    after: str = _FIRST
    seen: int = 0
    done: int = 0


def export(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="File to write; a name ending in .zst is compressed."),
    ],
    server: Server = DEFAULT_SERVER,
) -> None:
    """Write all events of a server to a file, one per line, oldest first.

    An existing file is replaced only when the export is complete. The new file is readable by
    its owner only.
    """
    from headwater.cli.client import Client
    from headwater.cli.output import note

    count = 0
    with Client(server) as client, _writing(file) as out, _progress() as shown:
        task = shown.add_task("events", total=None)
        for page, _ in pages(client, Cursor(), "all"):
            for raw in page:
                out.write(bytes(raw).translate(_ON_ONE_LINE) + b"\n")
            count += len(page)
            shown.update(task, completed=count)
    note(f"wrote {count:,} events to {file}")


def import_(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A file of events, or the word marquez.")
    ],
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="Address of the Marquez server.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File that stores the progress, to resume later."),
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Send the events of a file (plain or .zst) or of a running Marquez to a server.

    An event is stored only once, so an import can be repeated. An import from Marquez
    continues where the last one was interrupted.
    """
    from headwater.cli.client import Client
    from headwater.cli.output import note

    with Client(server) as target, _progress() as shown:
        task = shown.add_task("events", total=None)
        if source == "marquez":
            if url is None:
                raise UsageError(
                    "the address of Marquez is missing", hint="headwater import marquez URL"
                )
            count, bad = _from_marquez(target, url, resume, shown, task)
        else:
            count, bad = _from_file(target, Path(source), shown, task)
            if count == 0:
                raise NoEvents(source)
    note(f"sent {count:,} events" + (f", {bad:,} were rejected" if bad else ""))
    if bad:
        raise typer.Exit(1)


def _from_file(target: "Client", path: Path, shown: "Progress", task: Any) -> tuple[int, int]:
    count = bad = 0
    with _reading(path) as lines:
        for batch in _batches(line.strip() for line in lines):
            bad += _send(target, batch)
            count += len(batch)
            shown.update(task, completed=count)
    return count, bad


def _batches(events: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Events in batches that a server takes in one request, without blank ones."""
    batch: list[bytes] = []
    size = 0
    for event in filter(None, events):
        if batch and (len(batch) == _BATCH or size + len(event) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += len(event)
    if batch:
        yield batch


def _from_marquez(
    target: "Client", url: str, resume: Path | None, shown: "Progress", task: Any
) -> tuple[int, int]:
    from headwater.cli.client import Client

    digest = hashlib.sha256(f"{url} {target.url}".encode()).hexdigest()[:12]
    place = resume or Path(f"headwater-import-{digest}.json")
    cursor = Cursor()
    if place.exists():
        cursor = msgspec.json.decode(place.read_bytes(), type=Cursor)
    bad = 0
    # The key of the environment is that of the target, and nobody else's business.
    with Client(url, key=os.environ.get("MARQUEZ_API_KEY")) as marquez:
        for page, after in pages(marquez, cursor, None):
            bad += sum(_send(target, batch) for batch in _batches(map(bytes, page)))
            place.write_bytes(msgspec.json.encode(after))
            shown.update(task, completed=after.done)
            cursor = after
    return cursor.done, bad


class _Timed(msgspec.Struct, rename="camel"):
    event_time: str


def pages(
    client: "Client", start: Cursor, kind: str | None
) -> Iterator[tuple[list[msgspec.Raw], Cursor]]:
    """Events oldest first, page by page, each with the cursor after it.

    Pages go by time, for a server that has to pass over a million events reads them all.
    """
    cursor = start
    while True:
        extra = {} if kind is None else {"kind": kind}
        page = client.event_page(
            after=cursor.after, offset=cursor.seen, limit=_PAGE, sortDirection="asc", **extra
        )
        if not page:
            return
        last = _time(page[-1])
        same = sum(1 for raw in page if _time(raw) == last)
        seen = cursor.seen + same if last == cursor.after else same
        cursor = Cursor(last, seen, cursor.done + len(page))
        yield page, cursor
        if len(page) < _PAGE:
            return


def _time(raw: msgspec.Raw) -> str:
    return format_moment(parse_moment(msgspec.json.decode(raw, type=_Timed).event_time))


def _send(target: "Client", batch: list[bytes]) -> int:
    """Send events; how many were refused."""
    try:
        summary = target.send_lines(b"\n".join(line.translate(_ON_ONE_LINE) for line in batch))
    except RequestRefused as error:
        if error.status != 422:
            raise
        return len(batch)
    return int(summary["received"]) - int(summary["stored"])


def _progress() -> "Progress":
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    from headwater.cli.output import err

    columns = (SpinnerColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=err(), transient=True)


@contextmanager
def _writing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that takes the place of an earlier one when it is complete.

    Only its owner can read it: events tell how a company's data flows.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():  # a pipe or a terminal
            with target.open("wb") as stream:
                yield stream
            return
        with NamedTemporaryFile(dir=target.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                with _packing(path, file) as packing:
                    yield packing
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(target)
            finally:
                Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}", hint="Name a file in a folder that can be written"
        ) from None


def _packing(path: Path, file: IO[bytes]) -> Any:
    if path.suffix == ".zst":
        return _zstd().ZstdCompressor().stream_writer(file, closefd=False)
    return nullcontext(file)


def _reading(path: Path) -> IO[bytes]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}", hint="Name a file that `headwater export` wrote"
        ) from None
    is_packed = file.read(4) == b"\x28\xb5\x2f\xfd"
    file.seek(0)
    if not is_packed:
        return file
    file.close()
    import io

    return io.BufferedReader(_zstd().open(path, "rb"))


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            "zstandard is not installed",
            hint="Install it with: pip install 'headwater[server]'; or use a plain file",
        ) from None
    return zstandard
