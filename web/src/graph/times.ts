// The scale of the time slider.

export interface Change {
  at: string;
  kinds: string[];
  nodeIds: string[];
  runId: string | null;
}

export interface TimeScale {
  from: number;
  to: number;
  step: number;
  /** Where a time is on the scale: 0 at its beginning, 1 at its end. */
  place(time: number): number;
}

const SHORTEST = 60_000;
const STEPS = 2_000;

/** A scale from a little before the first change until now, or over a range before now. */
export function scaleOf(changes: readonly Change[], now: number, range = 0): TimeScale {
  const first = changes[0] ? Date.parse(changes[0].at) : now - SHORTEST;
  const width = Math.max(SHORTEST, (now - first) * 1.03);
  const from = range > 0 ? now - range : now - width;
  const step = Math.max(1, Math.round((now - from) / STEPS));
  return { from, to: now, step, place: (time) => (time - from) / (now - from) };
}

/** The change before or after a time; none: there is no other. */
export function near(
  changes: readonly Change[],
  time: number,
  way: "before" | "after",
): number | null {
  const times = changes.map((change) => Date.parse(change.at));
  if (way === "after") return times.find((one) => one > time) ?? null;
  return times.filter((one) => one < time).pop() ?? times[0] ?? null;
}
