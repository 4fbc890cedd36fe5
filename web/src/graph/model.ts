// The graph as the page thinks of it: nodes by id, and edges between them.
import type { DatasetData, JobData, Lineage, LineageNode, Name } from "../api/types";

export interface DatasetNode {
  kind: "dataset";
  id: string;
  data: DatasetData;
}

export interface JobNode {
  kind: "job";
  id: string;
  data: JobData;
}

export type GraphNode = DatasetNode | JobNode;

export interface GraphEdge {
  from: string;
  to: string;
}

export interface Graph {
  nodes: Map<string, GraphNode>;
  edges: GraphEdge[];
}

export const EMPTY: Graph = { nodes: new Map(), edges: [] };

/** Reads the server's answers; what several of them tell is told once. */
export function readGraph(...answers: Lineage[]): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  for (const answer of answers) {
    for (const node of answer.graph) nodes.set(node.id, readNode(node));
    for (const node of answer.graph) {
      for (const { origin, destination } of [...node.inEdges, ...node.outEdges]) {
        edges.set(edgeKey(origin, destination), { from: origin, to: destination });
      }
    }
  }
  const known = [...edges.values()].filter((edge) => nodes.has(edge.from) && nodes.has(edge.to));
  nameApart(nodes);
  return { nodes, edges: known };
}

/** Puts the parent's name before that of jobs whose names repeat, such as the tasks of two DAGs. */
function nameApart(nodes: Map<string, GraphNode>): void {
  const counts = new Map<string, number>();
  const jobs = [...nodes.values()].filter((node) => node.kind === "job");
  for (const { data } of jobs) counts.set(data.simpleName, (counts.get(data.simpleName) ?? 0) + 1);
  for (const node of jobs) {
    const { simpleName, parentJobName } = node.data;
    if (!parentJobName || (counts.get(simpleName) ?? 0) < 2) continue;
    const data = { ...node.data, simpleName: `${parentJobName}.${simpleName}` };
    nodes.set(node.id, { ...node, data });
  }
}

function readNode(node: LineageNode): GraphNode {
  return node.type === "JOB"
    ? { kind: "job", id: node.id, data: node.data }
    : { kind: "dataset", id: node.id, data: node.data };
}

export const edgeKey = (from: string, to: string): string => `${from}\n${to}`;

/** What tells two graphs apart by their shape alone: nodes, edges and columns, no states. */
export function shapeOf(graph: Graph): string {
  const nodes = [...graph.nodes.values()].map((node) =>
    node.kind === "dataset"
      ? `${node.id}(${node.data.fields.map((field) => `${field.name} ${field.type}`).join()})`
      : node.id,
  );
  return [...nodes.sort(), ...graph.edges.map((e) => edgeKey(e.from, e.to)).sort()].join("\n\n");
}

/** The part of a graph with these nodes. */
export function part(graph: Graph, ids: ReadonlySet<string>): Graph {
  return {
    nodes: new Map([...graph.nodes].filter(([id]) => ids.has(id))),
    edges: graph.edges.filter((edge) => ids.has(edge.from) && ids.has(edge.to)),
  };
}

/** Two graphs in one; the first tells what both know. */
export function merge(first: Graph, second: Graph): Graph {
  const edges = new Map(second.edges.map((edge) => [edgeKey(edge.from, edge.to), edge]));
  for (const edge of first.edges) edges.set(edgeKey(edge.from, edge.to), edge);
  return { nodes: new Map([...second.nodes, ...first.nodes]), edges: [...edges.values()] };
}

/** A dataset of which only the name is known. */
export function bareDataset(id: string, name: Name): DatasetNode {
  const data = { id: name, ...name, fields: [], tags: [], description: null, updatedAt: "" };
  return { kind: "dataset", id, data };
}

/** A job of which only the name is known. */
export function bareJob(id: string, name: Name): JobNode {
  const data = {
    id: name,
    ...name,
    type: "BATCH" as const,
    simpleName: name.name,
    parentJobName: null,
    updatedAt: "",
    description: null,
    location: null,
    latestRun: null,
  };
  return { kind: "job", id, data };
}
