// "What if I change this": everything downstream by distance, or where it all comes from.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { address, ask, get } from "../../api/client";
import { datasetId, lineageLink, runLink } from "../../api/names";
import type { ImpactItem, ImpactPage } from "../../api/types";
import { Icon } from "../../components/Icon";
import { StateBadge } from "../../components/StateBadge";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { kindOf } from "../../graph/kinds";
import { stateOf } from "../../graph/state";
import { ago } from "../../graph/words";
import { useNow } from "../../live/now";
import { save } from "../lineage/exports";
import { Page, useParams } from "../tables/parts";

export function Impact() {
  const [params, change] = useParams();
  const node = params.get("node") ?? "";
  const way = params.get("way") === "origin" ? "origin" : "impact";
  const name = node.slice(node.lastIndexOf(":") + 1);
  useTitle(`${way === "impact" ? "Impact" : "Origin"} of ${name}`);
  const found = useQuery({
    queryKey: ["impact", way, node],
    enabled: node !== "",
    queryFn: ({ signal }) => get<ImpactPage>(`/${way}`, { nodeId: node, depth: 20 }, signal),
  });
  const csv = async () => {
    const url = address(`/${way}`, { nodeId: node, depth: 20, format: "csv" });
    save(`${way}-${name}.csv`, await (await ask(url)).blob());
  };
  const items = found.data?.items ?? [];
  return (
    <Page
      title={`${way === "impact" ? "Downstream of" : "Upstream of"} ${name || "…"}`}
      tools={
        <>
          <button
            type="button"
            aria-pressed={way === "impact"}
            onClick={() => change({ way: null })}
          >
            Downstream
          </button>
          <button
            type="button"
            aria-pressed={way === "origin"}
            onClick={() => change({ way: "origin" })}
          >
            Upstream
          </button>
          <button type="button" disabled={items.length === 0} onClick={() => void csv()}>
            Save as CSV
          </button>
        </>
      }
    >
      {!node && (
        <Empty title="Nothing is selected">
          <p>Open a dataset, a column or a job, and choose Impact there.</p>
        </Empty>
      )}
      {found.isLoading && <Waiting what="the list" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data && items.length === 0 && (
        <Empty title={way === "impact" ? "Nothing depends on it" : "Nothing is upstream of it"} />
      )}
      {items.length > 0 && <Items items={items} />}
    </Page>
  );
}

function Items({ items }: { items: ImpactItem[] }) {
  const now = useNow();
  return (
    <table>
      <thead>
        <tr>
          <th>Steps</th>
          <th>Node</th>
          <th>Kind</th>
          <th>Via</th>
          <th>Owners</th>
          <th>Last run</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.nodeId + item.kind}>
            <td>{item.distance}</td>
            <td className="wide">
              <Link href={linkOf(item)} className="with-icon">
                <Icon name={iconOf(item)} />
                {item.field ? `${item.name}.${item.field}` : item.name}
              </Link>
              <small>{item.namespace}</small>
            </td>
            <td>{item.kind?.toLowerCase()}</td>
            <td className="wide">
              {item.via.map((job) => (
                <small key={job}>{job.slice(job.lastIndexOf(":") + 1)}</small>
              ))}
            </td>
            <td>{item.owners.join(", ")}</td>
            <td>
              {item.lastRunId && (
                <Link href={runLink(item.lastRunId)}>
                  <StateBadge state={stateOf(item.lastState)} />
                  <small>{ago(item.lastRunAt, now)}</small>
                </Link>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function linkOf(item: ImpactItem): string {
  return item.type === "DATASET_FIELD"
    ? lineageLink(datasetId(item), item.nodeId)
    : lineageLink(item.nodeId);
}

function iconOf(item: ImpactItem) {
  if (item.type === "JOB") return "batch";
  return item.type === "DATASET_FIELD" ? "column" : kindOf(item.namespace, item.name);
}
