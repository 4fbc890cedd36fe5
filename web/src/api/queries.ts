// What views ask of the server.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { usesStream } from "../live/connection";
import { get, type Params } from "./client";
import { under } from "./names";
import type {
  ColumnLineage,
  Dataset,
  DatasetVersionPage,
  Job,
  JobPage,
  Lineage,
  Name,
  RunPage,
  SearchPage,
  SnapshotPage,
} from "./types";

/** Where nothing comes by itself, ask again and again; while the stream runs, only now and then. */
export const often = () => (usesStream() ? 15_000 : 2_000);

export const LARGE = 1_000; // nodes; beyond them a graph comes without columns

export const wholeQuery = (limit: number, asOf: string | null, aggregateByParentRun: boolean) =>
  queryOptions({
    queryKey: ["whole", limit, asOf, aggregateByParentRun],
    queryFn: ({ signal }) =>
      get<Lineage>(
        "/lineage/whole",
        { limit, asOf, aggregateByParentRun, brief: limit > LARGE },
        signal,
      ),
    structuralSharing: limit <= LARGE,
    // A large graph is read again only when the server says that it changed.
    refetchInterval: asOf || (limit > LARGE && usesStream()) ? false : often,
    placeholderData: keepPreviousData,
  });

export const lineageQuery = (
  nodeId: string,
  depth: number,
  asOf: string | null,
  aggregateByParentRun = false,
) =>
  queryOptions({
    queryKey: ["lineage", nodeId, depth, asOf, aggregateByParentRun],
    queryFn: ({ signal }) =>
      get<Lineage>("/lineage", { nodeId, depth, asOf, detail: true, aggregateByParentRun }, signal),
    refetchInterval: asOf ? false : often,
  });

export const columnQuery = (nodeId: string, asOf: string | null) =>
  queryOptions({
    queryKey: ["columns", nodeId, asOf],
    queryFn: ({ signal }) =>
      get<ColumnLineage>(
        "/column-lineage",
        { nodeId, depth: 20, withDownstream: true, detail: true, asOf },
        signal,
      ),
  });

export const jobQuery = (name: Name) =>
  queryOptions({
    queryKey: ["job", name.namespace, name.name],
    queryFn: ({ signal }) => get<Job>(under("jobs", name), {}, signal),
    refetchInterval: often,
  });

export const datasetQuery = (name: Name) =>
  queryOptions({
    queryKey: ["dataset", name.namespace, name.name],
    queryFn: ({ signal }) => get<Dataset>(under("datasets", name), {}, signal),
  });

export const versionsQuery = (name: Name) =>
  queryOptions({
    queryKey: ["versions", name.namespace, name.name],
    queryFn: ({ signal }) =>
      get<DatasetVersionPage>(`${under("datasets", name)}/versions`, {}, signal),
  });

export const snapshotsQuery = (name: Name) =>
  queryOptions({
    queryKey: ["snapshots", name.namespace, name.name],
    queryFn: ({ signal }) => get<SnapshotPage>(`${under("datasets", name)}/snapshots`, {}, signal),
    refetchInterval: 10_000,
  });

/** How the columns of a dataset were computed at a moment. */
export const formulasQuery = (nodeId: string, asOf: string | null) =>
  queryOptions({
    queryKey: ["formulas", nodeId, asOf],
    queryFn: ({ signal }) =>
      get<ColumnLineage>("/column-lineage", { nodeId, depth: 1, detail: true, asOf }, signal),
  });

export const runsQuery = (name: Name, limit = 30) =>
  queryOptions({
    queryKey: ["runs", name.namespace, name.name, limit],
    queryFn: ({ signal }) => get<RunPage>(`${under("jobs", name)}/runs`, { limit }, signal),
    refetchInterval: often,
  });

export const childrenQuery = (name: Name, limit = 100) =>
  queryOptions({
    queryKey: ["children", name.namespace, name.name, limit],
    queryFn: ({ signal }) => get<JobPage>(`${under("jobs", name)}/children`, { limit }, signal),
    refetchInterval: often,
  });

export const searchQuery = (q: string) =>
  queryOptions({
    queryKey: ["search", q],
    enabled: q.trim().length > 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const ask = async (params: Params) =>
        (await get<SearchPage>("/search", { q, limit: 20, ...params }, signal)).results;
      const found = await ask({ types: "job,dataset,column,run" });
      // A server that knows no types finds columns only when asked for them alone.
      if (found.some((result) => result.type === "COLUMN" || result.type === "RUN")) return found;
      return [...found, ...(await ask({ filter: "FIELD" }))];
    },
  });
