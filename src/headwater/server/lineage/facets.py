"""Facets, read back from the events that reported them last."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from headwater.openlineage.facets import Facets, is_absent
from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import FacetSources, Stamp
from headwater.version import PRODUCER


class _Part(Struct, rename="camel"):
    namespace: str = ""
    name: str = ""
    facets: Facets | None = None
    input_facets: Facets | None = None
    output_facets: Facets | None = None


class _Faceted(Struct):
    facets: Facets | None = None


class _Body(Struct):
    run: _Faceted | None = None
    job: _Faceted | None = None
    dataset: _Part | None = None
    inputs: list[_Part] | None = None
    outputs: list[_Part] | None = None


_ALWAYS = 4096  # bytes of facets of one thing that every answer holds
_MOST_NAMES = 50
OMITTED = "headwater_omitted"
_SCHEMA = "urn:headwater:facets:1-0-0:OmittedFacet"
_Name = tuple[str, str]
_decode = msgspec.json.Decoder(_Body).decode


class Wanted(NamedTuple):
    """Facets of one thing: of which kind, the event that reported each last, and its names."""

    kind: str
    sources: tuple[tuple[str, Stamp], ...]
    names: tuple[_Name, ...] = ()


def run_facets(sources: FacetSources) -> Wanted:
    """The facets of a run."""
    return Wanted("run", tuple(sources.items()))


def job_facets(sources: FacetSources) -> Wanted:
    """The facets of a job."""
    return Wanted("job", tuple(sources.items()))


def dataset_facets(sources: FacetSources, names: Iterable[_Name], *, own: bool = False) -> Wanted:
    """The facets of a dataset that goes by some names; `own`: only its output's."""
    return Wanted("output" if own else "dataset", tuple(sources.items()), tuple(sorted(names)))


class FacetBook:
    """Facets of some answers, from the events that reported them; each event is read once.

    What an event reported never changes, so that recent facets are cached. When the facets of an
    answer are too large, those of the rest are left out, and a facet in their place names them.
    """

    def __init__(self, view: StoreView, wanted: Iterable[Wanted]) -> None:
        self._view, self._wanted = view, wanted
        self._kept = view.contents.facets
        self._found: dict[Wanted, Facets] | None = None

    def get(self, wanted: Wanted) -> Facets:
        """The facets that are wanted, of those that the book was made for."""
        if not wanted.sources:
            return {}
        known = self._kept.get(wanted)
        if known is not None:
            return known
        if self._found is None:
            self._found = self._read()
        return self._found[wanted]

    def _read(self) -> dict[Wanted, Facets]:
        """All that is wanted: what is at hand now may not be so any more when it is asked for."""
        at_hand, found = dict[Wanted, Facets](), dict[Wanted, Facets]()
        for wanted in (one for one in self._wanted if one.sources):
            known = self._kept.get(wanted)
            if known is None:
                found[wanted] = {}
            else:
                at_hand[wanted] = known
        by_event: dict[int, list[Wanted]] = {}
        for wanted in found:
            for seq in dict.fromkeys(stamp[2] for _, stamp in wanted.sources):
                by_event.setdefault(seq, []).append(wanted)
        sizes, left_out = Counter[Wanted](), dict[Wanted, list[str]]()
        for seq, body in self._view.bodies([*by_event]):
            event = None if body is None else _decode(body)
            for wanted in by_event[seq]:
                names = {name for name, stamp in wanted.sources if stamp[2] == seq}
                told = self._told(event, wanted, names)
                for name, raw in told.items():
                    size = len(memoryview(raw)) if raw is not None else 0
                    if raw is None or not self._fits(size, sizes[wanted]):
                        left_out.setdefault(wanted, []).append(name)
                    else:
                        sizes[wanted] += size
                        found[wanted][name] = raw.copy()  # it outlives the event
        for wanted, facets in found.items():
            if wanted in left_out:
                facets[OMITTED] = _omitted(left_out[wanted])
            else:
                self._kept.put(wanted, facets)
        return at_hand | found

    def _fits(self, size: int, held: int) -> bool:
        """Whether a facet fits into the answer, after so many bytes of facets of the same thing."""
        return held + size <= _ALWAYS or self._view.budget.take_facets(size)

    def _told(self, event: _Body | None, wanted: Wanted, names: set[str]) -> dict[str, Raw | None]:
        """The facets with some names that an event told; None where it could not be opened."""
        if event is None:
            return dict.fromkeys(names)
        return {
            name: raw
            for facets in self._of(event, wanted)
            for name, raw in (facets or {}).items()
            if name in names and not is_absent(raw)
        }

    def _of(self, event: _Body, wanted: Wanted) -> Iterator[Facets | None]:
        if wanted.kind in ("run", "job"):
            part: _Faceted | None = getattr(event, wanted.kind)
            yield part.facets if part else None
            return
        names = frozenset(wanted.names)
        parts = [*(event.inputs or ()), *(event.outputs or ())]
        for one in [*parts, event.dataset] if event.dataset else parts:
            if (self._view.rules.resolve(one.namespace), one.name) in names:
                if wanted.kind == "output":
                    yield one.output_facets
                else:
                    yield one.input_facets
                    yield one.facets


def _omitted(names: list[str]) -> Raw:
    told = sorted(names)[:_MOST_NAMES]
    return Raw(msgspec.json.encode({"_producer": PRODUCER, "_schemaURL": _SCHEMA, "facets": told}))
