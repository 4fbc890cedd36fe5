"""Keeps the tags of the last `tags` facet of a thing, beside those given through the API."""

from headwater.openlineage.facets import Facets
from headwater.openlineage.tags import TAGS, read_tags
from headwater.server.store.commit import Commit
from headwater.server.store.rows import FacetSources, Stamp, is_latest
from headwater.server.store.tables import add

DATASET, JOB, RUN = "DATASET", "JOB", "RUN"
_FORGET = "DELETE FROM facet_tag WHERE kind = ? AND target = ?"
_ADD_TAG = "INSERT INTO tag (name, description) VALUES (?, ?) ON CONFLICT DO NOTHING"


def record_tags(
    commit: Commit, kind: str, target: int, facets: Facets, sources: FacetSources, stamp: Stamp
) -> None:
    """Note the tags of an event that is the last to tell any; `sources` has its facets already."""
    raw = facets.get(TAGS)
    if raw is None or not is_latest(sources, TAGS, stamp):
        return
    tags = read_tags(raw)
    if commit.cache.facet_tags.get((kind, target)) == tags:
        return
    commit.cache.facet_tags[kind, target] = tags
    commit.session.run(_FORGET, kind, target)
    commit.session.many(_ADD_TAG, [(tag, None) for tag in sorted({one.tag for one in tags})])
    commit.session.many(add("facet_tag"), [(kind, target, *one) for one in sorted(tags)])
