// A plain layered layout for graphs that are too large for a careful one: it takes milliseconds.
import type { GraphEdge } from "./model";
import type { Point, Size } from "./sizes";
import { linksOf } from "./walk";

const BETWEEN_LAYERS = 132;
const BETWEEN_NODES = 28;
const SWEEPS = 6;
const SCREEN = 1.6; // how much wider than tall a picture should be
const FEWEST_ROWS = 24;

/** Positions left to right: layers by the longest way to a node, order by where neighbours are. */
export function layered(
  sizes: ReadonlyMap<string, Size>,
  edges: readonly GraphEdge[],
): Map<string, Point> {
  const links = linksOf(edges);
  const layers = layersOf([...sizes.keys()], links.up, links.down);
  const index = new Map<string, number>();
  const number = (layer: string[]) => {
    for (const [place, id] of layer.entries()) index.set(id, place / layer.length);
  };
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const near = isForward ? links.up : links.down;
    for (const layer of isForward ? layers : [...layers].reverse()) {
      const weight = new Map(layer.map((id) => [id, middle(near.get(id), index, id)]));
      layer.sort((a, b) => (weight.get(a) ?? 0) - (weight.get(b) ?? 0));
      number(layer);
    }
  }
  return place(layers, sizes);
}

function middle(near: string[] | undefined, index: Map<string, number>, id: string): number {
  if (!near || near.length === 0) return index.get(id) ?? 0;
  let sum = 0;
  for (const other of near) sum += index.get(other) ?? 0;
  return sum / near.length;
}

function layersOf(
  ids: string[],
  up: Map<string, string[]>,
  down: Map<string, string[]>,
): string[][] {
  const depth = new Map<string, number>();
  const waiting = new Map(ids.map((id) => [id, up.get(id)?.length ?? 0]));
  const ready = ids.filter((id) => waiting.get(id) === 0);
  const left = new Set(ids);
  while (left.size > 0) {
    // Where a cycle leaves nothing ready, one of it goes first.
    const id = ready.pop() ?? (left.values().next().value as string);
    if (!left.delete(id)) continue;
    const own = depth.get(id) ?? 0;
    for (const next of down.get(id) ?? []) {
      if (!left.has(next)) continue;
      depth.set(next, Math.max(depth.get(next) ?? 0, own + 1));
      const rest = (waiting.get(next) ?? 1) - 1;
      waiting.set(next, rest);
      if (rest === 0) ready.push(next);
    }
  }
  const layers: string[][] = [];
  for (const id of ids) {
    const layer = depth.get(id) ?? 0;
    const found = layers[layer];
    if (found) found.push(id);
    else layers[layer] = [id];
  }
  return layers.filter(Boolean);
}

/**
 * Layers left to right. One that is much taller than the whole may be stands in several columns
 * side by side, so that the picture has the shape of a screen and not that of a thread.
 */
function place(layers: string[][], sizes: ReadonlyMap<string, Size>): Map<string, Point> {
  const most = rowsOf(sizes);
  const cells = layers.map((layer) => gridOf(layer, most, sizes));
  const tallest = Math.max(0, ...cells.map((cell) => cell.height));
  const found = new Map<string, Point>();
  let x = 0;
  for (const { columns, height, width } of cells) {
    const rows = Math.max(...columns.map((column) => column.length));
    const extra = Math.min((tallest - height) / Math.max(1, rows), BETWEEN_NODES * 3);
    const top = (tallest - height - extra * rows) / 2;
    const step = height / Math.max(1, rows) + extra;
    for (const [number, column] of columns.entries()) {
      // Every other column stands half a step lower, so that lines pass between its nodes.
      let y = top + (number % 2) * (step / 2);
      for (const id of column) {
        found.set(id, { x, y: Math.round(y) });
        y += (sizes.get(id)?.height ?? 0) + BETWEEN_NODES + extra;
      }
      x += width + BETWEEN_NODES;
    }
    x += BETWEEN_LAYERS - BETWEEN_NODES;
  }
  return found;
}

/** How many nodes may stand above each other, for a picture as wide as a screen. */
function rowsOf(sizes: ReadonlyMap<string, Size>): number {
  let area = 0;
  let height = 0;
  for (const size of sizes.values()) {
    area += (size.width + BETWEEN_LAYERS / 2) * (size.height + BETWEEN_NODES);
    height += size.height + BETWEEN_NODES;
  }
  const one = Math.max(1, height / Math.max(1, sizes.size));
  return Math.max(FEWEST_ROWS, Math.ceil(Math.sqrt(area / SCREEN) / one));
}

interface Grid {
  columns: string[][];
  width: number;
  height: number;
}

/** A layer in columns; its order goes row by row, so that neighbours stay near. */
function gridOf(layer: string[], most: number, sizes: ReadonlyMap<string, Size>): Grid {
  const count = Math.max(1, Math.ceil(layer.length / most));
  const columns: string[][] = Array.from({ length: count }, () => []);
  for (const [number, id] of layer.entries()) columns[number % count]?.push(id);
  const heights = columns.map((column) =>
    column.reduce((sum, id) => sum + (sizes.get(id)?.height ?? 0) + BETWEEN_NODES, 0),
  );
  const width = layer.reduce((widest, id) => Math.max(widest, sizes.get(id)?.width ?? 0), 0);
  return { columns, width, height: Math.max(0, ...heights) };
}
