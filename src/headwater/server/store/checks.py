"""Keeps the last result of each check of a dataset, whichever job reports it."""

from xxhash import xxh3_128_digest

from headwater.openlineage.events import EventDataset
from headwater.openlineage.quality import ASSERTIONS, Check, read_checks
from headwater.server.store.commit import Commit
from headwater.server.store.rows import Stamp
from headwater.server.store.tables import insert

_RECORD = (
    f"{insert('quality_check')} ON CONFLICT (dataset, key) DO UPDATE SET time = excluded.time, "
    "tie = excluded.tie, success = excluded.success, body = excluded.body WHERE "
    "(excluded.time, excluded.tie) >= (quality_check.time, quality_check.tie)"
)


def record_checks(commit: Commit, dataset: int, job: int, part: EventDataset, stamp: Stamp) -> None:
    """Note the results that an event reports; of two results of one check the later counts."""
    checks = read_checks(part.own.get(ASSERTIONS) or part.facets.get(ASSERTIONS))
    rows = [
        (dataset, _key(job, check), *stamp[:2], check.success, bytes(check.body).decode())
        for check in checks
    ]
    commit.session.many(_RECORD, rows)


def _key(job: int, check: Check) -> bytes:
    return xxh3_128_digest(f"{job}\0{check.number}\0{check.column}\0{check.assertion}".encode())
