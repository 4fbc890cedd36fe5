// Node ids and addresses of the page.
import type { Name } from "./types";

export const jobId = ({ namespace, name }: Name): string => `job:${namespace}:${name}`;
export const datasetId = ({ namespace, name }: Name): string => `dataset:${namespace}:${name}`;
export const fieldId = (dataset: Name, field: string): string =>
  `datasetField:${dataset.namespace}:${dataset.name}:${field}`;

/** The dataset that a column's id speaks of, where the column is known by name. */
export function datasetOfField(id: string, field: string): string {
  const rest = id.slice("datasetField:".length, id.length - field.length - 1);
  return `dataset:${rest}`;
}

export const isJob = (id: string): boolean => id.startsWith("job:");

function query(params: Record<string, string | undefined>): string {
  const told = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) told.append(name, value);
  return told.toString();
}

/** The graph with something in the middle. */
export const lineageLink = (node: string, column?: string): string =>
  `/lineage?${query({ node, column, select: column ? undefined : node })}`;
export const jobLink = ({ namespace, name }: Name): string =>
  `/jobs/view?${query({ namespace, name })}`;
export const datasetLink = ({ namespace, name }: Name): string =>
  `/datasets/view?${query({ namespace, name })}`;
export const runLink = (id: string): string => `/runs/view?${query({ id })}`;

/** The path of a thing under the API; names are escaped whole. */
export const under = (kind: "jobs" | "datasets", { namespace, name }: Name): string =>
  `/namespaces/${encodeURIComponent(namespace)}/${kind}/${encodeURIComponent(name)}`;
