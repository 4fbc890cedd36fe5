// What the pipelines view asks of workers and Kafka Connect clusters, through the server.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { get, send } from "../../api/client";
import { often } from "../../api/queries";
import type { ConnectCluster, Job } from "../../api/types";

export interface TaskStatus {
  id: number;
  state: string;
  worker_id: string;
  trace?: string;
}

export interface Connector {
  info: { name: string; config: Record<string, string>; type: string };
  status: {
    connector: { state: string; worker_id: string; trace?: string };
    tasks: TaskStatus[];
  };
}

export interface Validation {
  error_count: number;
  configs: { value: { name: string; errors: string[] } }[];
}

const at = (cluster: string, ...rest: string[]) =>
  `/pipelines/${[cluster, ...rest].map(encodeURIComponent).join("/")}`;

export const clustersQuery = queryOptions({
  queryKey: ["clusters"],
  queryFn: ({ signal }) => get<ConnectCluster[]>("/pipelines", {}, signal),
  refetchInterval: 5_000,
});

export const connectorsQuery = (cluster: string) =>
  queryOptions({
    queryKey: ["connectors", cluster],
    queryFn: ({ signal }) =>
      get<Record<string, Connector>>(
        at(cluster, "connectors"),
        { expand: ["info", "status"] },
        signal,
      ),
    refetchInterval: 2_000,
  });

export type Deed = "pause" | "resume" | "stop" | "restart" | "delete";

/** Does something to a connector. */
export async function act(cluster: string, connector: string, deed: Deed): Promise<void> {
  const path = at(cluster, "connectors", connector);
  if (deed === "delete") await send("DELETE", path);
  else if (deed === "restart") await send("POST", `${path}/restart?includeTasks=true`);
  else await send("PUT", `${path}/${deed}`);
}

/** Deploys a connector, or changes the one of that name. */
export async function deploy(
  cluster: string,
  name: string,
  config: Record<string, string>,
): Promise<void> {
  await send("PUT", at(cluster, "connectors", name, "config"), config);
}

/** Asks a cluster what it thinks of a configuration: faults by key. */
export async function validate(
  cluster: string,
  config: Record<string, string>,
): Promise<Map<string, string[]>> {
  const plugin = config["connector.class"] ?? "";
  const path = at(cluster, "connector-plugins", plugin, "config", "validate");
  const told = await send<Validation>("PUT", path, config);
  const faults = new Map<string, string[]>();
  for (const { value } of told?.configs ?? []) {
    if (value.errors.length > 0) faults.set(value.name, value.errors);
  }
  return faults;
}

/** The jobs of connectors, by name: a connector's lineage is told under its own name. */
export function useJobs(names: string[]): Map<string, Job> {
  const { data } = useQuery({
    queryKey: ["jobs-named", ...names],
    queryFn: ({ signal }) => get<{ jobs: Job[] }>("/jobs", { name: names, limit: 500 }, signal),
    enabled: names.length > 0,
    refetchInterval: often,
  });
  return useMemo(
    () => new Map([...(data?.jobs ?? [])].reverse().map((job) => [job.name, job])),
    [data],
  );
}
