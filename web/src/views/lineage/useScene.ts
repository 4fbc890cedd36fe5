// Everything the graph view draws: what was asked for, cut to what is shown, laid out.
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { datasetId } from "../../api/names";
import { columnQuery, datasetQuery, lineageQuery, wholeQuery } from "../../api/queries";
import { collapse, groupsOf } from "../../graph/collapse";
import { type ColumnGraph, type Lit, light, readColumns, withPath } from "../../graph/columns";
import { compare, type Marks } from "../../graph/diff";
import { layOut, type Places } from "../../graph/layout";
import { EMPTY, type Graph, merge, part, readGraph, shapeOf } from "../../graph/model";
import { type Trail, trailOf, withTrail } from "../../graph/trail";
import { around, type Hidden, hiddenNeighbours } from "../../graph/walk";
import { reachedQuery } from "../records/reached";
import { FARTHEST, type ViewState } from "./state";

const WHOLE = 60;
const EVERYTHING = 20_000;
const NONE: string[] = [];

export interface Scene {
  graph: Graph;
  places: Places;
  columns: ColumnGraph | null;
  lit: Lit | null;
  /** What the records reached that are followed. */
  trail: Trail | null;
  /** The nodes that keep full ink; none: all of them do. */
  path: ReadonlySet<string> | null;
  marks: Marks | null;
  hidden: Map<string, Hidden>;
  /** Namespaces that can be drawn as one node, with how many they hold. */
  groups: Map<string, number>;
  total: number;
  whole: boolean;
  /** Whether columns are read only once a card opens. */
  isBrief: boolean;
  isLoading: boolean;
  isStale: boolean;
  error: Error | null;
  /** The graph has changed since it was drawn; this draws it anew. */
  changed: (() => void) | null;
}

/** The graph at a moment, around the anchors. */
function useGraphAt(state: ViewState, at: string | null, enabled: boolean) {
  const { anchors } = state;
  const deepest = Math.max(state.up, state.down);
  const depth = deepest >= FARTHEST ? 50 : deepest + 1;
  const isWhole = anchors.length === 0;
  const whole = useQuery({
    ...wholeQuery(state.everything ? EVERYTHING : WHOLE, at, state.folded),
    enabled: enabled && isWhole,
  });
  const some = useQueries({
    queries: anchors.map((node) => ({
      ...lineageQuery(node, depth, at, state.folded),
      placeholderData: keepPreviousData,
      enabled,
    })),
    combine: (results) => ({
      data: results.map((result) => result.data).filter((data) => data !== undefined),
      isLoading: results.some((result) => result.isLoading),
      isPlaceholder: results.some((result) => result.isPlaceholderData || result.isLoading),
      error: results.find((result) => result.error)?.error ?? null,
    }),
  });
  const graph = useMemo(() => {
    if (isWhole) return whole.data ? readGraph(whole.data) : EMPTY;
    return readGraph(...some.data);
  }, [isWhole, whole.data, some.data]);
  return {
    graph,
    total: (isWhole && whole.data?.total) || graph.nodes.size,
    whole: !isWhole || whole.data?.whole !== false,
    isPlaceholder: isWhole ? whole.isPlaceholderData : some.isPlaceholder,
    isLoading: enabled && (isWhole ? whole.isLoading : some.isLoading),
    error: isWhole ? whole.error : some.error,
  };
}

/** A graph whose shape only changes when asked to; its states are always the latest. */
function useSettled(
  graph: Graph,
  key: string,
  isPlaceholder: boolean,
): [Graph, (() => void) | null] {
  const held = useRef<{ key: string; shape: string; graph: Graph } | null>(null);
  const [, redraw] = useState(0);
  const shape = useMemo(() => shapeOf(graph), [graph]);
  const isEmpty = !held.current || held.current.graph.nodes.size === 0;
  const isOther = held.current?.key !== key;
  if (isEmpty || (!isPlaceholder && (isOther || held.current?.shape === shape))) {
    held.current = { key, shape, graph };
  }
  const shown = held.current?.graph ?? graph;
  if (isPlaceholder) return [shown, null];
  const show = () => {
    held.current = { key, shape, graph };
    redraw((count) => count + 1);
  };
  return [shown, shown === graph ? null : show];
}

/** What the records reached, where some are followed. */
function useTrail({ records, partition, offsets }: ViewState) {
  const { data, isFetching } = useQuery(reachedQuery(records, partition, offsets));
  const trail = useMemo(
    () => (records && data ? trailOf(data, records, `partition ${partition} · ${offsets}`) : null),
    [records, data, partition, offsets],
  );
  return { trail, isFetching };
}

export function useScene(given: ViewState): Scene {
  // Records are followed through single jobs, not through the applications around them.
  const state = useMemo(
    () => (given.records && given.folded ? { ...given, folded: false } : given),
    [given],
  );
  const now = useGraphAt(state, state.at, true);
  const before = useGraphAt(state, state.since, state.since !== null);
  const isComparing = state.since !== null;
  const key = [
    state.anchors.join(),
    state.folded,
    state.everything,
    state.up,
    state.down,
    state.at,
    state.since,
  ].join("|");
  const [settled, changed] = useSettled(now.graph, key, now.isPlaceholder);

  const column = useQuery({
    ...columnQuery(state.column ?? "", state.at),
    enabled: state.column !== null,
  });
  const columns = useMemo(
    () => (state.column && column.data ? readColumns(column.data) : null),
    [state.column, column.data],
  );
  const lit = useMemo(
    () => (columns && state.column ? light(columns, state.column, state.indirect) : null),
    [columns, state.column, state.indirect],
  );
  const marks = useMemo(
    () => (isComparing ? compare(before.graph, settled) : null),
    [isComparing, before.graph, settled],
  );
  const { trail, isFetching } = useTrail(state);
  const path = useMemo(
    () => lit?.nodes ?? (trail ? new Set(trail.stops.keys()) : null),
    [lit, trail],
  );
  const everything = useMemo(() => {
    const both = isComparing ? merge(settled, before.graph) : settled;
    const found = trail ? withTrail(both, trail) : both;
    return columns && lit ? withPath(found, columns, lit) : found;
  }, [settled, isComparing, before.graph, columns, lit, trail]);

  const { graph: apart, hidden } = useMemo(
    () => cut(everything, state, path, trail),
    [everything, state, path, trail],
  );
  const groups = useMemo(() => groupsOf(apart), [apart]);
  const graph = useMemo(() => {
    // A path and a comparison are about single nodes.
    if (path || isComparing) return apart;
    return collapse(apart, state.together, new Set([...state.anchors, state.selected ?? ""]));
  }, [apart, path, isComparing, state.together, state.anchors, state.selected]);
  const { places, isStale } = usePlaces(graph);
  const isBrief = state.everything && state.anchors.length === 0;
  return {
    graph: useFields(graph, isBrief ? state.open : NONE),
    places,
    columns,
    lit,
    trail,
    path,
    marks,
    hidden,
    groups,
    total: now.total,
    whole: now.whole,
    isBrief,
    isLoading: now.isLoading || before.isLoading,
    isStale: isStale || column.isFetching || isFetching || now.isPlaceholder,
    error: now.error ?? before.error ?? column.error,
    changed,
  };
}

function cut(
  everything: Graph,
  state: ViewState,
  path: ReadonlySet<string> | null,
  trail: Trail | null,
) {
  const { anchors, selected, isolate } = state;
  const all = new Set(everything.nodes.keys());
  let shown = anchors.length > 0 ? around(everything, anchors, state) : all;
  for (const id of [...(path ?? []), ...(trail?.stops.keys() ?? [])]) {
    if (all.has(id)) shown.add(id);
  }
  if (selected && all.has(selected)) shown.add(selected);
  if (isolate && path) shown = new Set([...path].filter((id) => all.has(id)));
  else if (isolate && selected && all.has(selected)) {
    shown = around(everything, [selected], { up: 99, down: 99 });
  }
  const hidden = isolate ? new Map<string, Hidden>() : hiddenNeighbours(everything, shown);
  return { graph: shown.size === all.size ? everything : part(everything, shown), hidden };
}

/** A graph that came without columns, with those of its open cards. */
function useFields(graph: Graph, open: readonly string[]): Graph {
  const bare = open
    .map((id) => graph.nodes.get(id))
    .filter((node) => node?.kind === "dataset" && node.data.fields.length === 0);
  const read = useQueries({
    queries: bare.map((node) => datasetQuery(node?.data.id ?? { namespace: "", name: "" })),
    combine: (results) => results.map((result) => result.data).filter((data) => data !== undefined),
  });
  return useMemo(() => {
    if (read.length === 0) return graph;
    const nodes = new Map(graph.nodes);
    for (const { fields, ...data } of read) {
      const id = datasetId(data);
      const node = nodes.get(id);
      if (node?.kind === "dataset") nodes.set(id, { ...node, data: { ...node.data, fields } });
    }
    return { ...graph, nodes };
  }, [graph, read]);
}

/** Places of a graph; while a new layout is made, the old one stays. */
function usePlaces(graph: Graph): { places: Places; isStale: boolean } {
  const shape = useMemo(() => shapeOf(graph), [graph]);
  const [laid, setLaid] = useState<{ shape: string; places: Places } | null>(null);
  const latest = useRef(graph);
  latest.current = graph;
  useEffect(() => {
    let isCurrent = true;
    layOut(latest.current).then((places) => {
      if (isCurrent) setLaid({ shape, places });
    });
    return () => {
      isCurrent = false;
    };
  }, [shape]);
  const places = useMemo(() => laid?.places ?? new Map(), [laid]);
  return { places, isStale: laid?.shape !== shape };
}
