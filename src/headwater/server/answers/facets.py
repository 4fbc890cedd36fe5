"""Facets, read back from the events that said them last."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from headwater.model.facets import Facets, is_absent
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


_decode = msgspec.json.Decoder(_Body).decode


class FacetBook:
    """The events that some answers take their facets from, each read once."""

    def __init__(self, reading: Reading, saids: Iterable[Said]) -> None:
        seqs = {stamp[2] for said in saids for stamp in said.values()}
        self._rules = reading.rules
        self._bodies = {
            seq: _decode(body) for seq, body in read_bodies(reading.session, [*seqs]).items()
        }

    def run(self, said: Said) -> Facets:
        """The facets of a run."""
        if not said:
            return {}
        return self._pick(said, [(s, b.run.facets) for s, b in self._of(said) if b.run])

    def job(self, said: Said) -> Facets:
        """The facets of a job."""
        if not said:
            return {}
        return self._pick(said, [(s, b.job.facets) for s, b in self._of(said) if b.job])

    def dataset(self, said: Said, names: set[tuple[str, str]], *, own: bool = False) -> Facets:
        """The facets of a dataset that goes by some names; `own`: only its output's."""
        found: list[tuple[int, Facets | None]] = []
        for seq, body in self._of(said):
            parts = [*(body.inputs or ()), *(body.outputs or ())]
            for part in [*parts, body.dataset] if body.dataset else parts:
                if (self._rules.resolve(part.namespace), part.name) in names:
                    own_facets = part.output_facets if own else part.input_facets
                    found += [(seq, own_facets)] if own else [(seq, own_facets), (seq, part.facets)]
        return self._pick(said, found)

    def _of(self, said: Said) -> list[tuple[int, _Body]]:
        seqs = {stamp[2] for stamp in said.values()}
        return [(seq, self._bodies[seq]) for seq in sorted(seqs) if seq in self._bodies]

    def _pick(self, said: Said, told: list[tuple[int, Facets | None]]) -> Facets:
        picked: Facets = {}
        for seq, facets in told:
            for name, raw in (facets or {}).items():
                if name in said and said[name][2] == seq and not is_absent(raw):
                    picked[name] = raw
        return picked
