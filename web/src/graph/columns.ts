// Columns: where each comes from, what it feeds, and what happened to it on the way.
import { datasetId, fieldId, jobId } from "../api/names";
import type { ColumnInput, ColumnLineage, Name, Transformation } from "../api/types";
import { bareDataset, bareJob, type Graph, type GraphEdge } from "./model";
import { linksOf, reach } from "./walk";

export type Deed =
  | "identity"
  | "transformation"
  | "aggregation"
  | "masked"
  | "indirect"
  | "unreported";

export interface ColumnEdge {
  from: string;
  to: string;
  deed: Deed;
  sign: string;
  word: string;
  job: string | null;
  jobName: Name | null;
  steps: Transformation[];
}

export interface Column {
  id: string;
  dataset: string;
  namespace: string;
  datasetName: string;
  field: string;
  type: string;
}

export interface ColumnGraph {
  columns: Map<string, Column>;
  edges: ColumnEdge[];
}

const SIGNS: Record<Exclude<Deed, "indirect" | "unreported">, string> = {
  identity: "=",
  transformation: "ƒ",
  aggregation: "Σ",
  masked: "▒",
};

/** Reads the server's answer. */
export function readColumns(answer: ColumnLineage): ColumnGraph {
  const columns = new Map<string, Column>();
  const edges: ColumnEdge[] = [];
  for (const { id, data } of answer.graph) {
    const name = { namespace: data.namespace, name: data.dataset };
    columns.set(id, {
      id,
      dataset: datasetId(name),
      namespace: data.namespace,
      datasetName: data.dataset,
      field: data.field,
      type: data.fieldType,
    });
    for (const input of data.inputFields) edges.push(edgeOf(input, id));
  }
  return { columns, edges: edges.filter((edge) => columns.has(edge.from)) };
}

function edgeOf(input: ColumnInput, to: string): ColumnEdge {
  const from = fieldId({ namespace: input.namespace, name: input.dataset }, input.field);
  const steps = input.transformations ?? [];
  const { deed, sign, word } = deedOf(steps, input.transformationType);
  const jobName = input.job ?? null;
  return { from, to, deed, sign, word, job: jobName && jobId(jobName), jobName, steps };
}

/** What happened to a column, by the strongest of its steps. */
export function deedOf(
  steps: readonly Transformation[],
  told: string | null = null,
): { deed: Deed; sign: string; word: string } {
  const direct = steps.filter((step) => step.type !== "INDIRECT");
  const indirect = steps[0];
  if (direct.length === 0 && indirect) {
    const word = (indirect.subtype ?? "indirect").toLowerCase().replaceAll("_", " ");
    return { deed: "indirect", sign: word.charAt(0).toUpperCase(), word };
  }
  const kinds = new Set(direct.map((step) => step.subtype ?? ""));
  if (direct.length === 0 && told) kinds.add(told.toUpperCase());
  const deed = direct.some((step) => step.masking)
    ? "masked"
    : kinds.has("AGGREGATION")
      ? "aggregation"
      : kinds.has("TRANSFORMATION")
        ? "transformation"
        : kinds.has("IDENTITY")
          ? "identity"
          : null;
  if (!deed) return { deed: "unreported", sign: "", word: "not reported" };
  return { deed, sign: SIGNS[deed], word: deed };
}

/** The expression on an edge: `total = sum(price)`; of an indirect one the condition alone. */
export function formulaOf(edge: ColumnEdge, field: string): string {
  const told = (isIndirect: boolean) => [
    ...new Set(
      edge.steps
        .filter((step) => (step.type === "INDIRECT") === isIndirect)
        .map((step) => step.description)
        .filter(Boolean),
    ),
  ];
  const direct = told(false);
  if (direct.length > 0) return `${field} = ${direct.join("; ")}`;
  return edge.deed === "indirect" ? told(true).join("; ") : "";
}

export interface Lit {
  /** Columns on the path, with how many steps they are away: less than 0 upstream. */
  columns: Map<string, number>;
  edges: ColumnEdge[];
  /** Datasets and jobs on the path. */
  nodes: Set<string>;
}

/** The path of a column: all that it comes from and all that it feeds. */
export function light(graph: ColumnGraph, column: string, withIndirect: boolean): Lit {
  const edges = graph.edges.filter((edge) => withIndirect || edge.deed !== "indirect");
  const links = linksOf(edges);
  const up = reach(links, [column], "up");
  const down = reach(links, [column], "down");
  const columns = new Map<string, number>();
  for (const [id, distance] of up) columns.set(id, 0 - distance);
  for (const [id, distance] of down) if (!columns.has(id)) columns.set(id, distance);
  const lit = edges.filter(
    (edge) => (up.has(edge.from) && up.has(edge.to)) || (down.has(edge.from) && down.has(edge.to)),
  );
  const nodes = new Set<string>();
  for (const id of columns.keys()) {
    const found = graph.columns.get(id);
    if (found) nodes.add(found.dataset);
  }
  for (const edge of lit) if (edge.job) nodes.add(edge.job);
  return { columns, edges: lit, nodes };
}

/** A graph with everything on a path in it, also what lies beyond the depth shown. */
export function withPath(graph: Graph, columns: ColumnGraph, lit: Lit): Graph {
  const nodes = new Map(graph.nodes);
  const edges = new Map(graph.edges.map((edge) => [`${edge.from}\n${edge.to}`, edge]));
  const link = (edge: GraphEdge) => edges.set(`${edge.from}\n${edge.to}`, edge);
  for (const id of lit.columns.keys()) {
    const column = columns.columns.get(id);
    if (column && !nodes.has(column.dataset)) nodes.set(column.dataset, bare(column));
  }
  for (const { from, to, job, jobName } of lit.edges) {
    const origin = columns.columns.get(from)?.dataset;
    const target = columns.columns.get(to)?.dataset;
    if (!job || !jobName || !origin || !target) continue;
    if (!nodes.has(job)) nodes.set(job, bareJob(job, jobName));
    link({ from: origin, to: job });
    link({ from: job, to: target });
  }
  return { nodes, edges: [...edges.values()] };
}

const bare = ({ dataset, namespace, datasetName }: Column) =>
  bareDataset(dataset, { namespace, name: datasetName });
