// Lays a graph out: carefully by ELK in its worker, plainly where there is too much for that.
import ELK from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import type { Laid, Order } from "./layered.worker";
import type { Graph, GraphEdge } from "./model";
import { type Point, type Size, sizeOf } from "./sizes";

export type Places = Map<string, Point>;

const CAREFUL = 400; // nodes; beyond them ELK takes seconds
const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "RIGHT",
  "elk.layered.spacing.nodeNodeBetweenLayers": "56",
  "elk.spacing.nodeNode": "28",
  "elk.spacing.componentComponent": "56",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.separateConnectedComponents": "true",
};

let elk: InstanceType<typeof ELK> | undefined;
let plain: Worker | undefined;
let orders = 0;

function engine(): InstanceType<typeof ELK> {
  elk ??= new ELK({ workerFactory: () => new Worker(workerUrl) });
  return elk;
}

/** Where each node goes, its card closed. */
export async function layOut(graph: Graph): Promise<Places> {
  const sizes = new Map([...graph.nodes].map(([id, node]) => [id, sizeOf(node)]));
  if (sizes.size === 0) return new Map();
  const start = performance.now();
  const found = await (sizes.size > CAREFUL ? layered(sizes, graph.edges) : careful(sizes, graph));
  performance.measure("layout", { start });
  return found;
}

async function careful(sizes: Map<string, Size>, graph: Graph): Promise<Places> {
  const ids = [...sizes.keys()].sort();
  const done = await engine().layout({
    id: "root",
    layoutOptions: OPTIONS,
    children: ids.map((id) => ({ id, ...sizes.get(id) })),
    edges: graph.edges.map((edge, number) => ({
      id: String(number),
      sources: [edge.from],
      targets: [edge.to],
    })),
  });
  const found: Places = new Map();
  for (const child of done.children ?? []) {
    found.set(child.id, { x: Math.round(child.x ?? 0), y: Math.round(child.y ?? 0) });
  }
  return found;
}

function layered(sizes: Map<string, Size>, edges: GraphEdge[]): Promise<Places> {
  plain ??= new Worker(new URL("./layered.worker.ts", import.meta.url), { type: "module" });
  const worker = plain;
  orders += 1;
  const order: Order = { number: orders, sizes, edges };
  return new Promise((resolve) => {
    const take = ({ data }: MessageEvent<Laid>) => {
      if (data.number !== order.number) return;
      worker.removeEventListener("message", take);
      performance.measure("layered", { start: 0, duration: data.took });
      resolve(data.places);
    };
    worker.addEventListener("message", take);
    worker.postMessage(order);
  });
}
