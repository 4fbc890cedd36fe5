// The server's answers: `make types` writes what they are, and this says what the page needs of them.
import type * as answers from "./generated";

export type * from "./generated";

export type Facets = Record<string, unknown>;

/** A key with namespaces is told only the names of what is not in them. */
type Named<T extends { nodeId: string; namespace: string; name: string }> = Partial<T> &
  Pick<T, "nodeId" | "namespace" | "name">;

type About<N, D> = Omit<N, "data"> & { data: D };

export type DatasetData = Pick<
  answers.DatasetData,
  "id" | "name" | "namespace" | "fields" | "tags" | "description" | "updatedAt"
>;

export type JobData = Pick<
  answers.JobData,
  | "id"
  | "type"
  | "name"
  | "simpleName"
  | "parentJobName"
  | "namespace"
  | "updatedAt"
  | "description"
  | "location"
  | "latestRun"
>;

export type LineageNode = About<answers.DatasetNode, DatasetData> | About<answers.JobNode, JobData>;

export type Lineage = { graph: LineageNode[] } & Partial<Omit<answers.WholeGraph, "graph">>;

export type ColumnInput = Omit<answers.ColumnInput, "datasetVersion">;

export type ColumnNode = About<
  Pick<answers.ColumnNode, "id" | "type">,
  Pick<answers.ColumnData, "namespace" | "dataset" | "field" | "fieldType"> & {
    inputFields: ColumnInput[];
  }
>;

export type ColumnLineage = { graph: ColumnNode[] };

export type ReachedOutput = Named<answers.ReachedOutput>;

export type ReachedJob = Omit<answers.ReachedJob, "inputs" | "outputs"> & {
  inputs?: answers.ReachedInput[];
  outputs: ReachedOutput[];
};

export type Reached = Pick<answers.Reached, "complete" | "partition" | "readUpTo"> & {
  jobs: ReachedJob[];
};

export type VersionRead = Named<answers.VersionRead>;

export type Write = Omit<Named<answers.Write>, "output" | "inputs"> & {
  output: VersionRead;
  inputs?: VersionRead[];
};

export type Why = Pick<answers.Why, "complete"> & { writes: Write[] };
