"""The oracle of rows: records that `headwater why --records` finds, judged by removing each.

    .venv/bin/python benchmarks/rows.py [--anew] [--pipelines 0-299] [--seconds 270] [--report]

Random pipelines are evaluated by DuckDB without each source record in turn; the records whose
removal changes a row are the truth. Results are kept pipeline by pipeline, so that a long run can
be made in pieces; `--anew` forgets them, `--report` writes docs/benchmarks/rows.md from what is
there. Ends with 1 if an answer was wrong.
"""

import platform
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# In place of this folder, which has a `pipeline` of its own.
sys.path[:1] = [str(ROOT / "tests"), str(ROOT / "src")]

from capture.jars import find_java  # noqa: E402
from capture.pieces import (  # noqa: E402
    Pieces,
    local_session,
    numbers,
    piece_options,
    put_between,
)
from pipeline.row_oracle import Judged, RowOracle  # noqa: E402

RESULTS = Pieces(ROOT / ".headwater" / "rows.jsonl")
REPORT = ROOT / "docs" / "benchmarks" / "rows.md"
MARK = "<!-- the oracle -->"
CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # Compiling each of some ten variants of a plan takes longer than to interpret them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}


def main() -> int:
    parser = piece_options(__doc__)
    parser.add_argument("--pipelines", default="0-299", help="first-last; empty: only report")
    parser.add_argument("--seconds", type=float, default=7200, help="end after so long")
    options = parser.parse_args()
    if options.anew:
        RESULTS.forget()
    if options.pipelines:
        _measure(numbers(options.pipelines), options.seconds)
    if options.report:
        write_report()
    return any(row["fault"] for row in RESULTS.all())


def _measure(seeds: Iterable[int], seconds: float) -> None:
    known = {row["seed"] for row in RESULTS.all()}
    find_java()
    spark = local_session("rows", CONF)
    oracle, began = RowOracle(spark), time.monotonic()
    try:
        for seed in seeds:
            if seed in known or time.monotonic() - began > seconds:
                continue
            RESULTS.add(*(_kept(seed, one) for one in oracle.judge(seed)))
    finally:
        oracle.close()
        spark.stop()


def _kept(seed: int, one: Judged) -> dict[str, Any]:
    if one.fault:
        print(seed, one, flush=True)
    return {
        "seed": seed, "kinds": one.kinds, "truth": len(one.truth), "answer": len(one.answer),
        "exact": one.exact, "fault": one.fault, "reason": one.reason,
    }  # fmt: skip


def write_report() -> None:
    """Put the table into the report, whose other parts stay."""
    rows = RESULTS.all()
    kinds = sorted({kind for row in rows for kind in row["kinds"]})
    lines = [
        "| Operator | Rows | Exact | Exact and wrong | Superset | A record missing | Records of supersets, for one of the truth |",
        "|---|---|---|---|---|---|---|",
        *(_line(kind, [row for row in rows if kind in row["kinds"]]) for kind in kinds),
        _line("**all**", rows),
        "",
        "| Why an answer is a superset | Rows |",
        "|---|---|",
        *(f"| {reason} | {count} |" for reason, count in _reasons(rows)),
        "",
        f"{len({row['seed'] for row in rows})} pipelines, in {datetime.now(UTC):%B %Y}, "
        f"{platform.machine()}, Python {platform.python_version()}.",
    ]
    put_between(REPORT, MARK, lines)


def _line(kind: str, rows: list[dict[str, Any]]) -> str:
    exact = [row for row in rows if row["exact"]]
    others = [row for row in rows if not row["exact"]]
    truth = sum(row["truth"] for row in others)
    larger = f"{sum(row['answer'] for row in others) / truth:.1f}" if truth else "-"
    wrong = sum(1 for row in exact if row["fault"])
    missing = sum(1 for row in others if row["fault"])
    return (
        f"| {kind} | {len(rows)} | {len(exact)} | {wrong} | {len(others)} | {missing} | {larger} |"
    )


def _reasons(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for row in rows:
        if not row["exact"]:
            found[row["reason"]] = found.get(row["reason"], 0) + 1
    return sorted(found.items(), key=lambda one: -one[1])


if __name__ == "__main__":
    sys.exit(main())
