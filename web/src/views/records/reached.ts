// The answer of /reached, and how it is asked for and told.

export interface ReachedRun {
  runId: string;
  state: string;
  since: string;
  firstBatch: number | null;
  lastBatch: number | null;
  exact: boolean;
  reason: string | null;
}

// What a key may not see of a dataset is left out.
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
  outputs: ReachedOutput[];
}

export interface Reached {
  complete: boolean;
  jobs: ReachedJob[];
}

const OFFSETS = /^\s*(\d{1,15})\s*(?:[-–]\s*(\d{1,15})\s*)?$/;

/** An offset or a range of them; null where the text is neither. */
export function parseOffsets(text: string): { firstOffset: number; lastOffset: number } | null {
  const match = OFFSETS.exec(text);
  if (!match) return null;
  const firstOffset = Number(match[1]);
  const lastOffset = Number(match[2] ?? match[1]);
  return lastOffset < firstOffset ? null : { firstOffset, lastOffset };
}

/** How many runs read the records, and of one run in which batches. */
export function batches(job: ReachedJob): string {
  const run = job.runs[0];
  if (job.runCount !== 1 || run?.firstBatch == null) {
    return job.runCount === 1 ? "1 run" : `${job.runCount} runs`;
  }
  return run.firstBatch === run.lastBatch
    ? `batch ${run.firstBatch}`
    : `batches ${run.firstBatch} to ${run.lastBatch}`;
}

/** The address of the view, for a topic and maybe one of its records. */
export function recordsLink(node: string, record?: { partition: number; offset: number }): string {
  const place = record && `&partition=${record.partition}&offsets=${record.offset}`;
  return `/records?node=${encodeURIComponent(node)}${place ?? ""}`;
}
