// Small graphs for tests.
import type { ColumnLineage, Field, Transformation } from "../api/types";
import type { Graph, GraphNode } from "./model";

/** A graph written as "a > job.x > b": names that begin with `job.` are jobs. */
export function graphOf(...chains: string[]): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, { from: string; to: string }>();
  for (const chain of chains) {
    const ids = chain.split(">").map((name) => name.trim());
    for (const id of ids) nodes.set(id, nodeOf(id));
    for (const [number, to] of ids.slice(1).entries()) {
      const from = ids[number] ?? "";
      edges.set(`${from}>${to}`, { from, to });
    }
  }
  return { nodes, edges: [...edges.values()] };
}

export function nodeOf(id: string, fields: Field[] = []): GraphNode {
  const name = { namespace: "space", name: id };
  const shared = { id: name, ...name, description: null, updatedAt: "" };
  if (!id.startsWith("job.")) {
    return { kind: "dataset", id, data: { ...shared, fields, tags: [] } };
  }
  const rest = { simpleName: id, parentJobName: null, location: null, latestRun: null };
  return { kind: "job", id, data: { ...shared, ...rest, type: "BATCH" } };
}

export const field = (name: string, type: string): Field => ({
  name,
  type,
  tags: [],
  description: null,
});

export const step = (type: string, subtype: string, masking = false): Transformation => ({
  type,
  subtype,
  description: "",
  masking,
});

/** Columns by "table.column", each with what it comes from and by which step. */
export function columnsOf(told: Record<string, [string, Transformation][]>): ColumnLineage {
  return {
    graph: Object.entries(told).map(([name, inputs]) => {
      const [dataset = "", column = ""] = name.split(".");
      return {
        id: `datasetField:space:${dataset}:${column}`,
        type: "DATASET_FIELD",
        data: {
          namespace: "space",
          dataset,
          field: column,
          fieldType: "string",
          inputFields: inputs.map(([from, transformation]) => {
            const [table = "", origin = ""] = from.split(".");
            return {
              namespace: "space",
              dataset: table,
              field: origin,
              transformationType: null,
              transformationDescription: null,
              transformations: [transformation],
              job: { namespace: "space", name: `${dataset}-writer` },
            };
          }),
        },
      };
    }),
  };
}
