"""Runs an application or SQL without its effects, and keeps the plans of what it would write."""

from headwater.dryrun.conversions import converted
from headwater.dryrun.replaced import StreamRead
from headwater.dryrun.run import is_same_plan, run_application, run_sql
from headwater.dryrun.writers import Match, Planned, Plans

__all__ = [
    "Match",
    "Planned",
    "Plans",
    "StreamRead",
    "converted",
    "is_same_plan",
    "run_application",
    "run_sql",
]
