"""Checks of datasets and of their versions, added up over the jobs that report them."""

from collections.abc import Iterable

from msgspec import Raw

from headwater.openlineage.facets import Facets
from headwater.openlineage.quality import ASSERTIONS, Check, read_checks, with_checks
from headwater.server.lineage.view import StoreView

_MOST = 1000  # checks of one dataset; failed ones come first


class DatasetChecks:
    """The last results of the checks of some datasets."""

    def __init__(self, view: StoreView, roots: Iterable[int]) -> None:
        self._budget = view.budget
        self._bodies: dict[int, list[Raw]] = {}
        rows = view.session.all(
            "SELECT d.root, c.body FROM quality_check c JOIN dataset d ON d.id = c.dataset "
            "WHERE d.root = ANY(?) ORDER BY c.success, c.time DESC, c.body", [*roots],
        )  # fmt: skip
        for root, body in rows:
            self._bodies.setdefault(root, []).append(Raw(body.encode()))

    def add_to(self, root: int, facets: Facets) -> Facets:
        """The facets of a dataset, with all of its checks."""
        known = facets.get(ASSERTIONS)
        bodies = self._bodies.get(root)
        return facets if known is None or not bodies else self._with(facets, known, bodies[:_MOST])

    def _with(self, facets: Facets, known: Raw, bodies: list[Raw]) -> Facets:
        size = sum(len(memoryview(body)) for body in bodies)
        if not self._budget.take_facets(size):
            return facets
        return {**facets, ASSERTIONS: with_checks(known, bodies)}


def add_up_checks(told: Iterable[tuple[int, Raw]]) -> Raw:
    """One facet from several, each with its job, in the order of their events."""
    latest: dict[tuple[int, str, str, int], Check] = {}
    last = Raw(b"null")
    for job, last in told:
        latest |= {(job, *check[:3]): check for check in read_checks(last)}
    if not latest:
        return last
    checks = sorted(latest.values(), key=lambda check: (check.success, bytes(check.body)))
    return with_checks(last, [check.body for check in checks[:_MOST]])
