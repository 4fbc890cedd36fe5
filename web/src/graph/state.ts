// The state of a job in words, shapes and figures.
import type { JobData, Run } from "../api/types";
import { failureReason } from "./reason";

export type State = "running" | "completed" | "failed" | "aborted" | "silent" | "unknown";

export const SIGN: Record<State, string> = {
  running: "●",
  completed: "✓",
  failed: "✕",
  aborted: "■",
  silent: "◌",
  unknown: "○",
};

const WORDS: Record<string, State> = {
  RUNNING: "running",
  START: "running",
  COMPLETED: "completed",
  COMPLETE: "completed",
  FAILED: "failed",
  FAIL: "failed",
  ABORTED: "aborted",
  ABORT: "aborted",
};

/** A run's state by the server's word for it. */
export function stateOf(word: string | null | undefined): State {
  return WORDS[word ?? ""] ?? "unknown";
}

/** What is known of a job now. */
export interface Pulse {
  state: State;
  runId: string | null;
  rate: number | null;
  lagRows: number | null;
  lagSeconds: number | null;
  rows: number | null;
  heardAt: number | null;
  lease: number | null;
  startedAt: number | null;
  durationMs: number | null;
  error: string | null;
}

export const STILL: Pulse = {
  state: "unknown",
  runId: null,
  rate: null,
  lagRows: null,
  lagSeconds: null,
  rows: null,
  heardAt: null,
  lease: null,
  startedAt: null,
  durationMs: null,
  error: null,
};

/** A job's pulse as its last run tells it. */
export function pulseOf(job: JobData): Pulse {
  return job.latestRun ? pulseOfRun(job.latestRun) : STILL;
}

export function pulseOfRun(run: Run): Pulse {
  const progress = record(run.facets.headwater_progress);
  const sources = Array.isArray(progress.sources) ? progress.sources.map(record) : [];
  const lags = sources.map((source) => figure(source.lag)).filter((lag) => lag !== null);
  const watermark = time(progress.watermark);
  const heardAt = time(run.updatedAt);
  return {
    state: stateOf(run.state),
    runId: run.id,
    rate: figure(progress.processedRowsPerSecond) ?? figure(progress.inputRowsPerSecond),
    lagRows: lags.length > 0 ? Math.max(...lags) : null,
    lagSeconds: watermark !== null && heardAt !== null ? (heardAt - watermark) / 1000 : null,
    rows: figure(progress.rows),
    heardAt,
    lease: figure(record(run.facets.headwater_lease).seconds),
    startedAt: time(run.startedAt ?? run.createdAt),
    durationMs: run.durationMs,
    error: errorOf(run),
  };
}

const CHECKS = 3; // failed checks that are named

/** Why a run ended, where it says so. */
export function errorOf(run: Run): string | null {
  const lapse = record(run.facets.headwater_lapse).reason;
  const told = [record(errorFacet(run)).message, lapse].find((one) => typeof one === "string");
  return typeof told === "string" ? told : failedChecks(run) || null;
}

/** The facet that tells an error: OpenLineage's own, or that of its Spark listener. */
function errorFacet(run: Run): unknown {
  return [run.facets.errorMessage, run.facets["spark.exception"]].find(
    (facet) => typeof record(facet).message === "string",
  );
}

/** The stack trace of a run that failed. */
export function stackOf(run: Run): string {
  const stack = record(errorFacet(run)).stackTrace;
  return typeof stack === "string" ? stack : "";
}

/** Which checks of what it read failed, in one line (as openlineage/failures.py tells them). */
function failedChecks(run: Run): string {
  if (run.state !== "FAILED") return "";
  const failed = run.inputDatasetVersions
    .flatMap(({ facets }) => record(facets.dataQualityAssertions).assertions ?? [])
    .map(record)
    .filter((check) => check.success === false)
    .map((check) => `${check.assertion}${check.column ? ` (${check.column})` : ""}`);
  const more = failed.length > CHECKS ? ` and ${failed.length - CHECKS} more` : "";
  return failed.length > 0 ? `failed checks: ${failed.slice(0, CHECKS).join(", ")}${more}` : "";
}

/** Why a run ended, in one line. */
export function reasonOf(run: Run): string {
  return failureReason(errorOf(run) ?? "", stackOf(run));
}

/** The state that is shown: a running job that is late to speak is silent. */
export function shownState(pulse: Pulse, now: number): State {
  const { state, lease, heardAt } = pulse;
  const isLate = lease !== null && heardAt !== null && now - heardAt > lease * 700;
  return state === "running" && isLate ? "silent" : state;
}

export function record(value: unknown): Record<string, unknown> {
  return value && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

export function figure(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function time(value: unknown): number | null {
  if (typeof value !== "string" || value === "") return null;
  const found = Date.parse(value);
  return Number.isNaN(found) ? null : found;
}
