// Walks along edges: reach, distance, neighbours.
import type { Graph, GraphEdge } from "./model";

export type Direction = "up" | "down";

export interface Links {
  up: Map<string, string[]>;
  down: Map<string, string[]>;
}

/** The neighbours of each node, both ways. */
export function linksOf(edges: readonly GraphEdge[]): Links {
  const links: Links = { up: new Map(), down: new Map() };
  for (const { from, to } of edges) {
    push(links.down, from, to);
    push(links.up, to, from);
  }
  return links;
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Every node in reach one way, with how many steps away it is. */
export function reach(
  links: Links,
  from: Iterable<string>,
  way: Direction,
  most = Number.POSITIVE_INFINITY,
): Map<string, number> {
  const found = new Map<string, number>();
  let level = [...from];
  for (const id of level) found.set(id, 0);
  for (let step = 1; level.length > 0 && step <= most; step++) {
    const next: string[] = [];
    for (const id of level) {
      for (const other of links[way].get(id) ?? []) {
        if (found.has(other)) continue;
        found.set(other, step);
        next.push(other);
      }
    }
    level = next;
  }
  return found;
}

export interface Depths {
  up: number;
  down: number;
}

/** What is shown around some nodes: so many jobs upstream, so many down, with their datasets. */
export function around(graph: Graph, anchors: readonly string[], depths: Depths): Set<string> {
  const links = linksOf(graph.edges);
  const shown = new Set<string>();
  for (const way of ["up", "down"] as const) {
    for (const anchor of anchors) {
      if (!graph.nodes.has(anchor)) continue;
      const isJob = graph.nodes.get(anchor)?.kind === "job";
      // A job and the dataset beyond it are one step of depth; from a job the dataset comes first.
      const most = depths[way] * 2 + (isJob ? 1 : 0);
      for (const id of reach(links, [anchor], way, most).keys()) shown.add(id);
    }
  }
  return shown;
}

export interface Hidden {
  up: number;
  down: number;
}

/** How many neighbours of each shown node are not shown. */
export function hiddenNeighbours(graph: Graph, shown: ReadonlySet<string>): Map<string, Hidden> {
  const counts = new Map<string, Hidden>();
  const count = (id: string, way: Direction) => {
    const found = counts.get(id) ?? { up: 0, down: 0 };
    found[way] += 1;
    counts.set(id, found);
  };
  for (const { from, to } of graph.edges) {
    if (shown.has(from) && !shown.has(to)) count(from, "down");
    if (shown.has(to) && !shown.has(from)) count(to, "up");
  }
  return counts;
}
