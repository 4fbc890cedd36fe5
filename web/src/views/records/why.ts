// The answer of /why, and how it becomes a story: steps from the first records to the snapshot.
import type { OffsetRange, VersionRead, Why, Write } from "../../api/types";
import { reachedLink } from "./reached";

export type { VersionRead, Why, Write };
export type Extent = OffsetRange;
export type Offsets = Record<string, Record<string, Extent>>;

/** What one job wrote into one dataset, in all of the runs that count. */
export interface Step {
  key: string;
  /** The latest of the runs, of those that report offsets if any does. */
  write: Write;
  runs: Write[];
  inputs: VersionRead[];
  offsets: Offsets;
  isExact: boolean;
  reasons: string[];
}

/** The steps behind a snapshot, each after those that wrote what it read; the snapshot's is last. */
export function stepsOf(writes: readonly Write[]): Step[] {
  const groups = new Map<string, Write[]>();
  for (const [number, write] of writes.entries()) {
    // The run that made the snapshot stands alone, also where its job has written before.
    const key = `${number === 0} ${write.nodeId} ${write.output.nodeId}`;
    groups.set(key, [...(groups.get(key) ?? []), write]);
  }
  return inOrder([...groups].map(([key, runs]) => stepOf(key, runs)).toReversed());
}

function stepOf(key: string, runs: Write[]): Step {
  const latest = runs.toSorted((a, b) => (b.at ?? "").localeCompare(a.at ?? ""));
  const write = latest.find((one) => Object.keys(one.offsets ?? {}).length > 0) ?? latest[0];
  return {
    key,
    write: write as Write,
    runs,
    inputs: inputsOf(runs),
    offsets: offsetsOf(runs),
    isExact: runs.every((one) => one.exact !== false),
    reasons: [...new Set(runs.flatMap((one) => one.reason ?? []))],
  };
}

/** Each dataset once; with a snapshot where all runs read the same one. */
function inputsOf(runs: readonly Write[]): VersionRead[] {
  const found = new Map<string, VersionRead>();
  for (const one of runs.flatMap((run) => run.inputs ?? [])) {
    const known = found.get(one.nodeId);
    const isSame = !known || known.snapshot === one.snapshot;
    found.set(one.nodeId, isSame ? one : { ...one, snapshot: null });
  }
  return [...found.values()];
}

/** From where to where some runs together read each partition. */
function offsetsOf(runs: readonly Write[]): Offsets {
  const found: Offsets = {};
  for (const offsets of runs.map((run) => run.offsets ?? {})) {
    for (const [topic, partitions] of Object.entries(offsets)) {
      found[topic] ??= {};
      for (const [partition, extent] of Object.entries(partitions)) {
        const known = found[topic][partition] ?? extent;
        found[topic][partition] = {
          from: both(known.from, extent.from, Math.min),
          to: both(known.to, extent.to, Math.max),
        };
      }
    }
  }
  return found;
}

/** One of two ends; null, which is the beginning or an unknown end, goes beyond any. */
const both = (a: number | null, b: number | null, choose: (a: number, b: number) => number) =>
  a === null || b === null ? null : choose(a, b);

/** Steps after those that write what they read; in a circle the one that came first. */
function inOrder(steps: Step[]): Step[] {
  const writers = new Map<string, Step[]>();
  for (const step of steps) {
    const { nodeId } = step.write.output;
    writers.set(nodeId, [...(writers.get(nodeId) ?? []), step]);
  }
  const done = new Set<Step>();
  const open = new Set<Step>();
  const visit = (step: Step) => {
    if (done.has(step) || open.has(step)) return;
    open.add(step);
    for (const { nodeId } of step.inputs) for (const one of writers.get(nodeId) ?? []) visit(one);
    done.add(step);
  };
  const last = steps.at(-1);
  for (const step of steps) if (step !== last) visit(step);
  if (last) {
    done.delete(last);
    done.add(last);
  }
  return [...done];
}

export interface Range {
  partition: string;
  text: string; // offsets, the last one included
  first: number;
  count: number | null;
  link: string | null; // to what these records reached
}

/** The offsets that were read of one input; a range without an end is not linked. */
export function rangesOf({ offsets }: Pick<Write, "offsets">, input: VersionRead): Range[] {
  return Object.entries(offsets?.[input.name] ?? {})
    .filter(([, { from, to }]) => to === null || to > (from ?? 0))
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([partition, { from, to }]) => {
      const first = from ?? 0;
      const range = to === null ? "" : first === to - 1 ? `${first}` : `${first}-${to - 1}`;
      return {
        partition,
        text: to === null ? `from ${first}` : range.replace("-", "–"),
        first,
        count: to === null ? null : to - first,
        link: to === null ? null : reachedLink(input.nodeId, { partition, offsets: range }),
      };
    });
}

/** The story of a snapshot of a table, of its latest one where none is named. */
export function whyLink(node: string, snapshot?: string): string {
  return `/why?${new URLSearchParams({ node, ...(snapshot && { snapshot }) })}`;
}
