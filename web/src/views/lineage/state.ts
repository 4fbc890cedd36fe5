// What the lineage view shows, as its address says it: every state of it can be linked.
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

export interface ViewState {
  /** What the graph is drawn around; nothing: all of it. */
  anchors: string[];
  selected: string | null;
  column: string | null;
  open: string[];
  up: number;
  down: number;
  indirect: boolean;
  isolate: boolean;
  /** The moment that is shown; none: now. */
  at: string | null;
  /** The moment that it is compared with. */
  since: string | null;
  time: boolean;
  /** Whether parents stand for their children. */
  folded: boolean;
  /** Namespaces of datasets or of jobs that are drawn as one node each. */
  together: string[];
  /** Whether everything is wanted, however much it is. */
  everything: boolean;
  /** The topic of the records that are followed, and which of its records. */
  records: string | null;
  partition: string;
  offsets: string;
}

/** No records are followed. */
export const NO_RECORDS = { records: null, partition: "0", offsets: "" };

/** Records of a topic are followed; which, is asked first. */
export const following = (topic: string) => ({ ...NO_RECORDS, records: topic, selected: null });

export const DEPTH = 3;
export const FARTHEST = 9; // shown as "all"

export function parse(search: string): ViewState {
  const params = new URLSearchParams(search);
  const depth = (name: string) => {
    const told = Number.parseInt(params.get(name) ?? "", 10);
    return Number.isNaN(told) ? DEPTH : Math.min(FARTHEST, Math.max(0, told));
  };
  return {
    anchors: params.getAll("node"),
    selected: params.get("select"),
    column: params.get("column"),
    open: params.getAll("open"),
    up: depth("up"),
    down: depth("down"),
    indirect: params.has("indirect"),
    isolate: params.has("isolate"),
    at: params.get("at"),
    since: params.get("since"),
    folded: params.has("folded"),
    together: params.getAll("together"),
    everything: params.has("everything"),
    records: params.get("records"),
    partition: params.get("partition") ?? NO_RECORDS.partition,
    offsets: params.get("offsets") ?? NO_RECORDS.offsets,
    time: params.has("time") || params.has("at") || params.has("since"),
  };
}

export function write(state: ViewState): string {
  const params = new URLSearchParams();
  for (const node of state.anchors) params.append("node", node);
  for (const name of ["column", "at", "since"] as const) {
    const value = state[name];
    if (value) params.set(name, value);
  }
  if (state.selected) params.set("select", state.selected);
  for (const node of state.open) params.append("open", node);
  if (state.up !== DEPTH) params.set("up", String(state.up));
  if (state.down !== DEPTH) params.set("down", String(state.down));
  if (state.folded) params.set("folded", "1");
  for (const group of state.together) params.append("together", group);
  if (state.everything) params.set("everything", "1");
  if (state.indirect) params.set("indirect", "1");
  if (state.isolate) params.set("isolate", "1");
  if (state.records) {
    params.set("records", state.records);
    params.set("partition", state.partition);
    if (state.offsets) params.set("offsets", state.offsets);
  }
  if (state.time && !state.at && !state.since) params.set("time", "1");
  return params.toString();
}

export interface View {
  state: ViewState;
  /** Goes to another state; back returns, unless the step is a small one. */
  change(next: Partial<ViewState>, how?: "push" | "replace"): void;
}

export function useView(): View {
  const search = useSearch();
  const [, navigate] = useLocation();
  const state = useMemo(() => parse(search), [search]);
  const change = useCallback(
    (next: Partial<ViewState>, how: "push" | "replace" = "push") => {
      const now = parse(window.location.search);
      const text = write({ ...now, ...next });
      navigate(`/lineage${text ? `?${text}` : ""}`, { replace: how === "replace" });
    },
    [navigate],
  );
  return useMemo(() => ({ state, change }), [state, change]);
}
