// What records of a topic reached, as a part of the graph, with how much of each node it is.
import type { Name, Reached, ReachedJob } from "../api/types";
import { bareDataset, bareJob, edgeKey, type Graph, type GraphEdge, type GraphNode } from "./model";

export interface Stop {
  /** How much of the node the records reached: batches, runs, snapshots. */
  text: string;
  /** Whether that is exact; otherwise it may hold more than the records. */
  isExact: boolean;
}

export interface Trail {
  stops: Map<string, Stop>;
  /** The nodes, for a graph that does not have them. */
  nodes: Map<string, GraphNode>;
  edges: GraphEdge[];
  /** The edges by their keys. */
  keys: Set<string>;
}

/** The trail of records from their topic on; `told` says which records they are. */
export function trailOf(reached: Reached, topic: string, told: string): Trail {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const stops = new Map<string, Stop>([[topic, { text: told, isExact: true }]]);
  const link = (from: string, to: string) => edges.set(edgeKey(from, to), { from, to });
  for (const job of reached.jobs) {
    nodes.set(job.nodeId, bareJob(job.nodeId, nameOf(job)));
    stops.set(job.nodeId, { text: `step ${job.step} · ${batches(job)}`, isExact: job.exact });
    for (const one of job.inputs ?? []) {
      nodes.set(one.nodeId, bareDataset(one.nodeId, nameOf(one)));
      link(one.nodeId, job.nodeId);
    }
    for (const one of job.outputs ?? []) {
      nodes.set(one.nodeId, bareDataset(one.nodeId, nameOf(one)));
      link(job.nodeId, one.nodeId);
    }
  }
  for (const [id, stop] of outputsOf(reached)) if (!stops.has(id)) stops.set(id, stop);
  return { stops, nodes, edges: [...edges.values()], keys: new Set(edges.keys()) };
}

const nameOf = ({ namespace, name }: Name): Name => ({ namespace, name });

/** What each dataset holds, of all jobs that write it. */
function outputsOf({ jobs }: Reached): Map<string, Stop> {
  const counts = new Map<string, { snapshots: number; isExact: boolean }>();
  for (const job of jobs) {
    for (const { nodeId, snapshotCount = 0 } of job.outputs ?? []) {
      const known = counts.get(nodeId) ?? { snapshots: 0, isExact: true };
      const isExact = known.isExact && job.exact;
      counts.set(nodeId, { snapshots: known.snapshots + snapshotCount, isExact });
    }
  }
  return new Map(
    [...counts].map(([id, { snapshots, isExact }]) => [
      id,
      { text: holding(snapshots, isExact), isExact },
    ]),
  );
}

/** How many snapshots hold the records; where none are reported, whether the dataset does. */
export function holding(snapshots: number, isExact: boolean): string {
  if (snapshots === 0) return isExact ? "holds them" : "may hold them";
  const told = snapshots === 1 ? "1 snapshot" : `${snapshots.toLocaleString("en")} snapshots`;
  return isExact ? told : `up to ${told}`;
}

/** How many runs read the records, and of one run in which batches. */
export function batches(job: ReachedJob): string {
  const run = job.runs[0];
  if (job.runCount !== 1 || run?.firstBatch == null) {
    return job.runCount === 1 ? "1 run" : `${job.runCount.toLocaleString("en")} runs`;
  }
  return run.firstBatch === run.lastBatch
    ? `batch ${run.firstBatch}`
    : `batches ${run.firstBatch} to ${run.lastBatch}`;
}

/** A graph with all of a trail in it, also what lies beyond the depth shown. */
export function withTrail(graph: Graph, trail: Trail): Graph {
  const known = new Set(graph.edges.map(({ from, to }) => edgeKey(from, to)));
  return {
    nodes: new Map([...trail.nodes, ...graph.nodes]),
    edges: [...graph.edges, ...trail.edges.filter(({ from, to }) => !known.has(edgeKey(from, to)))],
  };
}
