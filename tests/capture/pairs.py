"""Reads and writes golden pairs: a query, and the column edges it must give.

    ## What the pair shows
    select sum(price) as total from orders where qty > 1
    --
    total: orders.price AGGREGATION
    *: orders.qty FILTER

A query that starts with `df = ` is Python. `*` is what decides about rows, and holds for
every column; `?` are the fields that decide how often a row occurs; `!` is a note.
"""

from pathlib import Path
from typing import NamedTuple

from headwater.capture.plan import PlanLineage
from headwater.capture.plan.lineage import Edge, Origin

GOLDEN = Path(__file__).parent / "golden"


class Pair(NamedTuple):
    file: str
    title: str
    query: str
    edges: tuple[str, ...]


def read_pairs() -> list[Pair]:
    return [pair for path in sorted(GOLDEN.glob("*.txt")) for pair in _read(path)]


def write_pairs(pairs: list[Pair]) -> None:
    for file in {pair.file for pair in pairs}:
        blocks = (
            "\n".join([f"## {pair.title}", pair.query, "--", *pair.edges, ""])
            for pair in pairs
            if pair.file == file
        )
        (GOLDEN / file).write_text("\n".join(blocks))


def _read(path: Path) -> list[Pair]:
    pairs = []
    for block in path.read_text().split("## ")[1:]:
        title, _, rest = block.partition("\n")
        query, _, edges = rest.partition("\n--\n")
        lines = tuple(line for line in edges.splitlines() if line.strip())
        pairs.append(Pair(path.name, title.strip(), query.strip(), lines))
    return pairs


def describe(lineage: PlanLineage) -> tuple[str, ...]:
    """Captured lineage in the words of a golden pair."""
    names = [_source_name(lineage, index) for index in range(len(lineage.sources))]

    def field(origin: Origin) -> str:
        return f"{names[origin.source]}.{origin.name}"

    def edge(edge: Edge) -> str:
        return f"{field(edge.origin)} {edge.effect.name}{' MASKED' if edge.masking else ''}"

    lines = [f"{name}: {_list(map(edge, c.flat()))}" for name, c in lineage.columns]
    if lineage.relation.rows:
        lines.append(f"*: {_list(map(edge, lineage.relation.rows))}")
    if lineage.relation.presence:
        lines.append(f"?: {_list(map(field, lineage.relation.presence))}")
    for note, columns in lineage.notes().items():
        lines.append(f"! {note.kind} {note.name}: {', '.join(columns)}")
    return tuple(line.rstrip() for line in lines)


def _source_name(lineage: PlanLineage, index: int) -> str:
    source = lineage.sources[index]
    return (source.table or source.format or source.kind).rpartition(".")[2]


def _list(words: object) -> str:
    return ", ".join(sorted(set(words)))  # type: ignore[call-overload]
