// The shapes of the server's answers, as far as the page reads them.

export type RunState = "NEW" | "RUNNING" | "COMPLETED" | "FAILED" | "ABORTED";

export interface Name {
  namespace: string;
  name: string;
}

export interface Field {
  name: string;
  type: string | null;
  tags: string[];
  description: string | null;
  /** False of a column that only column lineage names. */
  inSchema?: boolean;
}

export type Facets = Record<string, unknown>;

export interface VersionedDataset {
  datasetVersionId: Name & { version: string };
  facets: Facets;
}

export interface Run {
  id: string;
  createdAt: string;
  updatedAt: string;
  state: RunState;
  startedAt: string | null;
  endedAt: string | null;
  durationMs: number | null;
  jobVersion: (Name & { version: string }) | null;
  inputDatasetVersions: VersionedDataset[];
  outputDatasetVersions: VersionedDataset[];
  facets: Facets;
}

export interface DatasetData {
  id: Name;
  name: string;
  namespace: string;
  fields: Field[];
  tags: string[];
  description: string | null;
  updatedAt: string;
}

export interface JobData {
  id: Name;
  type: "BATCH" | "STREAM";
  name: string;
  simpleName: string;
  parentJobName: string | null;
  namespace: string;
  updatedAt: string;
  description: string | null;
  location: string | null;
  latestRun: Run | null;
}

export interface Edge {
  origin: string;
  destination: string;
}

export type LineageNode =
  | { id: string; type: "DATASET"; data: DatasetData; inEdges: Edge[]; outEdges: Edge[] }
  | { id: string; type: "JOB"; data: JobData; inEdges: Edge[]; outEdges: Edge[] };

export interface Lineage {
  graph: LineageNode[];
  total?: number;
  whole?: boolean;
}

export interface Transformation {
  type: "DIRECT" | "INDIRECT" | string;
  subtype: string | null;
  description: string;
  masking: boolean;
}

export interface ColumnInput {
  namespace: string;
  dataset: string;
  field: string;
  transformationType: string | null;
  transformationDescription: string | null;
  transformations?: Transformation[];
  job?: Name | null;
}

export interface ColumnNode {
  id: string;
  type: "DATASET_FIELD";
  data: {
    namespace: string;
    dataset: string;
    field: string;
    fieldType: string;
    inputFields: ColumnInput[];
  };
}

export interface ColumnLineage {
  graph: ColumnNode[];
}

export interface Job extends JobData {
  inputs: Name[];
  outputs: Name[];
  createdAt: string;
  latestRuns: Run[] | null;
  facets: Facets;
  tags: string[];
  labels: string[];
}

export interface Dataset extends DatasetData {
  physicalName: string;
  sourceName: string;
  createdAt: string;
  currentVersion: string | null;
  facets: Facets;
}

export interface DatasetVersion {
  version: string;
  createdAt: string;
  fields: Field[];
  createdByRun: Run | null;
}

export interface SearchResult {
  type: "JOB" | "DATASET" | "COLUMN" | "FIELD" | "RUN";
  name: string;
  namespace: string;
  nodeId: string;
  field?: string | null;
  updatedAt: string;
  state?: RunState | null;
}

export interface LineageEvent {
  eventType?: string;
  eventTime: string;
  producer?: string;
  run?: { runId: string; facets?: Facets };
  job?: Name & { facets?: Facets };
  dataset?: Name & { facets?: Facets };
  inputs?: (Name & { facets?: Facets })[];
  outputs?: (Name & { facets?: Facets })[];
}

export interface ReachedRun {
  runId: string;
  state: string;
  since: string;
  firstBatch: number | null;
  lastBatch: number | null;
  exact: boolean;
  reason: string | null;
}

/** What a key may not see of a dataset is left out. */
export interface ReachedOutput {
  nodeId: string;
  namespace: string;
  name: string;
  since?: string;
  snapshots?: string[];
  snapshotCount?: number;
}

export interface ReachedJob {
  nodeId: string;
  namespace: string;
  name: string;
  step: number;
  exact: boolean;
  runCount: number;
  runs: ReachedRun[];
  /** The datasets by which the records came to it. */
  inputs?: (Name & { nodeId: string })[];
  outputs: ReachedOutput[];
}

export interface Reached {
  complete: boolean;
  jobs: ReachedJob[];
}
