"""Facets of answers, while others make and drop what is cached."""

from headwater.server.lineage.facets import FacetBook, Wanted, run_facets
from headwater.server.lineage.view import Contents, StoreViews
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import open_database
from headwater.server.store.rows import RunRow
from server.api import Api
from server.events import facet, run_event


def test_facets_that_are_dropped_from_the_cache_meanwhile_are_still_told(api: Api) -> None:
    for run in ("a", "b", "c"):
        api.send(run_event("COMPLETE", 1, run=run, own=facet(of=run)))
    database = open_database(api.store_url)
    with StoreViews(database, AliasRules(())).open_view() as view:
        rows = view.session.all("SELECT * FROM run WHERE id <> 0 ORDER BY id")
        wanted = [run_facets(RunRow.of(row).facets) for row in rows]
        assert len(wanted) == 3
        for known in range(3):
            expected = [FacetBook(view, wanted).get(one) for one in wanted]
            empty(view.contents)
            FacetBook(view, wanted[:known]).get(wanted[0] if known else Wanted("run", ()))
            book, found = FacetBook(view, wanted), []
            for one in reversed(wanted):
                found.append(book.get(one))
                empty(view.contents)  # as others do that ask for many facets
            assert found == expected[::-1]
            assert all(found)
    database.close()


def empty(contents: Contents) -> None:
    """Drop all facets from the cache."""
    contents.facets._items.clear()
