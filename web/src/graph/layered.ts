// A plain layered layout for graphs that are too large for a careful one: it takes milliseconds.
import type { GraphEdge } from "./model";
import type { Point, Size } from "./sizes";
import { linksOf } from "./walk";

const BETWEEN_LAYERS = 132;
const BETWEEN_NODES = 28;
const SWEEPS = 6;

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
    layers[layer] = [...(layers[layer] ?? []), id];
  }
  return layers.filter(Boolean);
}

function place(layers: string[][], sizes: ReadonlyMap<string, Size>): Map<string, Point> {
  const heights = layers.map((layer) =>
    layer.reduce((sum, id) => sum + (sizes.get(id)?.height ?? 0) + BETWEEN_NODES, 0),
  );
  const tallest = Math.max(0, ...heights);
  const found = new Map<string, Point>();
  let x = 0;
  for (const [number, layer] of layers.entries()) {
    const space = tallest - (heights[number] ?? 0);
    const extra = Math.min(space / Math.max(1, layer.length), BETWEEN_NODES * 3);
    let y = (space - extra * layer.length) / 2;
    for (const id of layer) {
      found.set(id, { x, y: Math.round(y) });
      y += (sizes.get(id)?.height ?? 0) + BETWEEN_NODES + extra;
    }
    x += Math.max(...layer.map((id) => sizes.get(id)?.width ?? 0)) + BETWEEN_LAYERS;
  }
  return found;
}
