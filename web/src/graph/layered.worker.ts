// The plain layout in a worker of its own, so that the page never waits for it.
import { layered } from "./layered";
import type { GraphEdge } from "./model";
import type { Point, Size } from "./sizes";

export interface Order {
  number: number;
  sizes: Map<string, Size>;
  edges: GraphEdge[];
}

export interface Laid {
  number: number;
  places: Map<string, Point>;
  /** Milliseconds that it took. */
  took: number;
}

self.addEventListener("message", ({ data }: MessageEvent<Order>) => {
  const start = performance.now();
  const places = layered(data.sizes, data.edges);
  const laid: Laid = { number: data.number, places, took: performance.now() - start };
  self.postMessage(laid);
});
