// Makes room where a card opens, and leaves everything else where it is.
import type { Point, Size } from "./sizes";

const GAP = 20;

/**
 * Positions in which no two nodes of a column overlap. Nodes keep their place unless the one
 * above them has grown into it; then they move down, and nothing moves sideways.
 */
export function makeRoom(
  places: ReadonlyMap<string, Point>,
  sizes: ReadonlyMap<string, Size>,
): Map<string, Point> {
  const found = new Map<string, Point>();
  for (const column of columnsOf(places)) {
    let floor = Number.NEGATIVE_INFINITY;
    for (const [id, place] of column) {
      const y = Math.max(place.y, floor);
      found.set(id, { x: place.x, y });
      floor = y + (sizes.get(id)?.height ?? 0) + GAP;
    }
  }
  return found;
}

/** Nodes that stand above each other, top first. */
function columnsOf(places: ReadonlyMap<string, Point>): [string, Point][][] {
  const columns = new Map<number, [string, Point][]>();
  for (const entry of places) {
    const column = columns.get(entry[1].x);
    if (column) column.push(entry);
    else columns.set(entry[1].x, [entry]);
  }
  return [...columns.values()].map((column) => column.sort((a, b) => a[1].y - b[1].y));
}
