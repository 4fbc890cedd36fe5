// What the stream tells of jobs, by node id; newer than what the graph was read with.
import { useCallback, useSyncExternalStore } from "react";
import type { JobData } from "../api/types";
import { type Pulse, pulseOf, STILL } from "../graph/state";

type News = Partial<Pulse> & { runId: string; heardAt: number };

const news = new Map<string, News>();
const watchers = new Map<string, Set<() => void>>();
const everyone = new Set<() => void>();
let generation = 0;

/** Takes in news of a job; a run that began later replaces all that was known of the one before. */
export function tell(nodeId: string, next: News): void {
  const known = news.get(nodeId);
  if (known && known.runId === next.runId) news.set(nodeId, { ...known, ...next });
  else if (!known || known.heardAt <= next.heardAt) news.set(nodeId, next);
  else return;
  generation += 1;
  for (const told of watchers.get(nodeId) ?? []) told();
  for (const told of everyone) told();
}

/** A job's pulse: the graph's, with news on top. */
export function latest(nodeId: string, job: JobData): Pulse {
  const base = pulseOf(job);
  const fresh = news.get(nodeId);
  if (!fresh) return base;
  if (base.runId === fresh.runId) {
    // An end may be in the graph before the stream tells it.
    const hasEnded = base.state !== "running" && base.state !== "unknown";
    return hasEnded && (base.heardAt ?? 0) >= fresh.heardAt ? base : { ...base, ...fresh };
  }
  if ((base.startedAt ?? 0) > fresh.heardAt) return base;
  return { ...STILL, state: "running", lease: base.lease, startedAt: fresh.heardAt, ...fresh };
}

export function usePulse(nodeId: string, job: JobData): Pulse {
  const watch = useCallback(
    (told: () => void) => {
      const found = watchers.get(nodeId) ?? new Set();
      watchers.set(nodeId, found.add(told));
      return () => {
        found.delete(told);
      };
    },
    [nodeId],
  );
  useSyncExternalStore(watch, () => news.get(nodeId));
  return latest(nodeId, job);
}

/** Calls whenever any pulse changes. */
export function watchPulses(told: () => void): () => void {
  everyone.add(told);
  return () => {
    everyone.delete(told);
  };
}

/** Changes whenever any pulse does. */
export function usePulseCount(): number {
  return useSyncExternalStore(watchPulses, () => generation);
}
