// The answer of /why, and how it is told: as steps from the first records to the snapshot.

export type Extent = { from: number | null; to: number | null };

export interface VersionRead {
  nodeId: string;
  namespace: string;
  name: string;
  snapshot?: string | null;
}

// What a key may not see of a run or a dataset is left out.
export interface Write {
  nodeId: string;
  namespace: string;
  name: string;
  runId?: string;
  state?: string;
  at?: string;
  batch?: number | null;
  output: VersionRead;
  offsets?: Record<string, Record<string, Extent>>;
  inputs?: VersionRead[];
  exact?: boolean;
  reason?: string | null;
}

export interface Why {
  complete: boolean;
  writes: Write[];
}

export interface Range {
  partition: string;
  text: string; // offsets, the last one included
  link: string | null; // to what these records reached
}

/** The offsets that a write read of one input; a range without an end is not linked. */
export function rangesOf(write: Write, input: VersionRead): Range[] {
  return Object.entries(write.offsets?.[input.name] ?? {})
    .filter(([, { from, to }]) => to === null || to > (from ?? 0))
    .map(([partition, { from, to }]) => ({
      partition,
      text: to === null ? `from ${from ?? 0}` : `${from ?? 0}–${to - 1}`,
      link:
        to === null
          ? null
          : `/records?node=${encodeURIComponent(input.nodeId)}&partition=${partition}` +
            `&offsets=${from ?? 0}-${to - 1}`,
    }));
}

/** The address of the view, for a snapshot of a table. */
export function whyLink(node: string, snapshot: string): string {
  return `/why?node=${encodeURIComponent(node)}&snapshot=${encodeURIComponent(snapshot)}`;
}
