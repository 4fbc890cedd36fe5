"""On which of a job's inputs each of its outputs depends (docs/adr/0046).

On those that its column lineage or its `lineage` facet names; where neither says anything, on all.
"""

from headwater.openlineage.graph import Way
from headwater.server.lineage.mappings import datasets_read
from headwater.server.lineage.view import StoreView

_WRITTEN = (
    "SELECT o.job, d.id, d.root, m.mapping FROM edge o "
    "JOIN mapping_span m ON m.dataset = o.dataset AND m.job = o.job AND m.since <= ? "
    "AND m.until > ? JOIN dataset d ON d.id = o.dataset "
    "WHERE o.job = ANY(?) AND o.io = 1 AND o.since <= ? AND o.until > ?"
)
# Lineage that dataset events tell is of no job.
_DECLARED = (
    "SELECT DISTINCT m.dataset FROM mapping_input i JOIN mapping_span m ON m.mapping = i.mapping "
    "AND m.job = 0 AND m.since <= ? AND m.until > ? WHERE i.dataset = ANY(?)"
)
_DECLARING = (
    "SELECT mapping FROM mapping_span WHERE dataset = ANY(?) AND job = 0 "
    "AND since <= ? AND until > ?"
)


class Dependencies:
    """The inputs of the outputs of jobs, as far as they were loaded.

    `inputs` has all inputs of each job. It is not the walk that fills it: two that refer to each
    other stay in memory until the garbage collector finds them.
    """

    def __init__(self, view: StoreView, inputs: dict[int, set[int]]) -> None:
        self._view, self._inputs = view, inputs
        self._named: dict[tuple[int, int], set[int]] = {}

    def load(self, jobs: set[int]) -> None:
        """Have the dependencies of some jobs at hand."""
        view, at = self._view, self._view.at
        rows = view.session.all(_WRITTEN, at, at, [*jobs], at, at)
        reads = datasets_read(view, {row[0] for row in rows})
        outputs = view.names.resolve({row[1]: row[2] for row in rows})
        mappings = view.mappings({row[3] for row in rows})
        roots = {dataset: root for read in reads.values() for dataset, root in read.items()}
        members = {d for mapping in mappings.values() for d in mapping.inputs}
        roots |= view.names.roots(members - roots.keys())
        for job, output, _, mapping in rows:
            named = {roots[d] for d in mappings[mapping].inputs} & {*reads[job].values()}
            if named or mappings[mapping].sources is not None:
                self._named.setdefault((job, outputs[output]), set()).update(named)

    def inputs_of(self, job: int, output: int) -> set[int]:
        """What an output depends on."""
        named = self._named.get((job, output))
        if named is None:
            return self._inputs[job]
        return named & self._inputs[job] if self._view.scope.is_limited else named


def declared_beside(view: StoreView, roots: set[int], way: Way) -> set[int]:
    """The datasets that some lead to by lineage of no job, as far as it is seen."""
    find = _declared_outputs if way is Way.DOWNSTREAM else _declared_inputs
    own = view.names.own(roots)
    found = find(view, own)
    return found | view.names.own(find(view, roots - own)) if roots - own else found


def _declared_outputs(view: StoreView, roots: set[int]) -> set[int]:
    """The datasets that depend on some by lineage of no job."""
    rows = view.session.all(_DECLARED, view.at, view.at, [*view.names.members(roots)])
    return _shown(view, {row[0] for row in rows})


def _declared_inputs(view: StoreView, roots: set[int]) -> set[int]:
    """The datasets that some depend on by lineage of no job."""
    rows = view.session.all(_DECLARING, [*view.names.members(roots)], view.at, view.at)
    mappings = view.mappings({row[0] for row in rows}).values()
    return _shown(view, {dataset for mapping in mappings for dataset in mapping.inputs})


def _shown(view: StoreView, members: set[int]) -> set[int]:
    return {*view.names.shown(members).values()} if members else set()
