// The one live line of a job.
import type { Pulse, State } from "../../graph/state";
import { ago, short, span } from "../../graph/words";

export function pulseLine(pulse: Pulse, state: State, now: number): string {
  if (state === "running" || state === "silent") {
    const parts: string[] = [];
    if (state === "silent" && pulse.heardAt) parts.push(`silent for ${span(now - pulse.heardAt)}`);
    if (pulse.rate !== null && state === "running") parts.push(`${short(pulse.rate)}/s`);
    const delay = lagOf(pulse);
    if (delay && state === "running") parts.push(delay);
    if (parts.length === 0 && pulse.startedAt) parts.push(`for ${span(now - pulse.startedAt)}`);
    return parts.join(" · ") || state;
  }
  if (state === "unknown") return "no run yet";
  const when = ago(pulse.heardAt, now);
  const took = pulse.durationMs !== null ? ` · took ${span(pulse.durationMs)}` : "";
  return `${state === "completed" ? "" : `${state} `}${when}${state === "completed" ? took : ""}`;
}

/** How far behind a running job is. */
export function lagOf(pulse: Pulse): string {
  if (pulse.lagSeconds !== null) return `${span(pulse.lagSeconds * 1000)} behind`;
  if (pulse.lagRows !== null && pulse.lagRows > 0) return `${short(pulse.lagRows)} rows behind`;
  return pulse.lagRows === 0 ? "up to date" : "";
}
