"""Facets, read back from the events that said them last."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from headwater.openlineage.facets import Facets, is_absent
from headwater.server.answers.reading import Reading
from headwater.server.store.log import read_bodies
from headwater.server.store.rows import Said


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


_KEPT = 65_536  # bytes of facets that are kept at hand
_Told = list[tuple[int, Facets | None]]
_decode = msgspec.json.Decoder(_Body).decode


class FacetBook:
    """Facets of some answers, from the events that said them; each event is read once.

    What an event said never changes, so that facets picked lately are at hand.
    """

    def __init__(self, reading: Reading, saids: Iterable[Said]) -> None:
        self._reading, self._saids = reading, saids
        self._kept = reading.contents.facets

    @cached_property
    def _bodies(self) -> dict[int, _Body]:
        seqs = {stamp[2] for said in self._saids for stamp in said.values()}
        bodies = read_bodies(self._reading.session, [*seqs])
        return {seq: _decode(body) for seq, body in bodies.items()}

    def run(self, said: Said) -> Facets:
        """The facets of a run."""
        return self._take("run", said, lambda: self._parts(said, "run"))

    def job(self, said: Said) -> Facets:
        """The facets of a job."""
        return self._take("job", said, lambda: self._parts(said, "job"))

    def dataset(self, said: Said, names: set[tuple[str, str]], *, own: bool = False) -> Facets:
        """The facets of a dataset that goes by some names; `own`: only its output's."""
        key = ("own" if own else "dataset", *sorted(names))
        return self._take(key, said, lambda: self._named(said, names, own=own))

    def _take(self, kind: Any, said: Said, told: Callable[[], _Told]) -> Facets:
        if not said:
            return {}
        key = (kind, *said.items())
        known: Facets | None = self._kept.get(key)
        if known is not None:
            return known
        picked = _pick(said, told())
        is_small = sum(len(bytes(raw)) for raw in picked.values()) <= _KEPT
        return self._kept.put(key, picked) if is_small else picked

    def _parts(self, said: Said, kind: str) -> _Told:
        parts = [(seq, getattr(body, kind)) for seq, body in self._of(said)]
        return [(seq, part.facets) for seq, part in parts if part]

    def _named(self, said: Said, names: set[tuple[str, str]], *, own: bool) -> _Told:
        found: _Told = []
        for seq, body in self._of(said):
            parts = [*(body.inputs or ()), *(body.outputs or ())]
            for part in [*parts, body.dataset] if body.dataset else parts:
                if (self._reading.rules.resolve(part.namespace), part.name) in names:
                    own_facets = part.output_facets if own else part.input_facets
                    found += [(seq, own_facets)] if own else [(seq, own_facets), (seq, part.facets)]
        return found

    def _of(self, said: Said) -> list[tuple[int, _Body]]:
        seqs = {stamp[2] for stamp in said.values()}
        return [(seq, self._bodies[seq]) for seq in sorted(seqs) if seq in self._bodies]


def _pick(said: Said, told: _Told) -> Facets:
    """Of what events told, the facets that each said last; copies, for they outlive the events."""
    picked: Facets = {}
    for seq, facets in told:
        for name, raw in (facets or {}).items():
            if name in said and said[name][2] == seq and not is_absent(raw):
                picked[name] = raw
    return {name: raw.copy() for name, raw in picked.items()}
