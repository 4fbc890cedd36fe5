// Tables of a warehouse with their newest snapshots, as runs told of them.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { datasetId, datasetLink, lineageLink, runLink } from "../../api/names";
import type { TablePage, WarehouseTable } from "../../api/types";
import { Icon } from "../../components/Icon";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { ago, moment, short } from "../../graph/words";
import { useNow } from "../../live/now";
import { Snapshots } from "../details/Snapshots";
import { whyLink } from "../records/why";
import { Filter, useParams } from "../tables/parts";
import { Tabs } from "./Tabs";

export function Tables() {
  useTitle("Tables");
  const [params, change] = useParams();
  const [open, setOpen] = useState<string | null>(null);
  const text = params.get("q") ?? "";
  const found = useQuery({
    queryKey: ["tables"],
    queryFn: ({ signal }) => get<TablePage>("/tables", {}, signal),
    refetchInterval: 10_000,
  });
  const shown = (found.data?.tables ?? []).filter((one) =>
    [one, ...one.aliases].some(({ name }) => name.toLowerCase().includes(text.toLowerCase())),
  );
  return (
    <div className="page">
      <Tabs />
      <div className="tools">
        <Filter label="Filter by name" value={text} change={(q) => change({ q }, true)} />
      </div>
      {found.isLoading && <Waiting what="tables" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data && shown.length === 0 && (
        <Empty title={text ? "No table matches" : "No tables yet"}>
          {!text && (
            <p>
              Tables appear here when a job reports that it writes them. Each Iceberg table is shown
              with the snapshots that streaming jobs commit and the Kafka offsets in each snapshot.
            </p>
          )}
        </Empty>
      )}
      {shown.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Table</th>
              <th className="number">Snapshots</th>
              <th>Newest snapshot</th>
              <th>Committed</th>
              <th>
                <span className="hidden">Graph</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((table) => {
              const id = datasetId(table);
              return (
                <Row
                  key={id}
                  table={table}
                  isOpen={open === id}
                  toggle={() => setOpen(open === id ? null : id)}
                />
              );
            })}
          </tbody>
        </table>
      )}
    </div>
  );
}

interface RowProps {
  table: WarehouseTable;
  isOpen: boolean;
  toggle: () => void;
}

function Row({ table, isOpen, toggle }: RowProps) {
  const now = useNow();
  const [alias] = table.aliases;
  return (
    <>
      <tr aria-current={isOpen || undefined}>
        <td className="wide">
          <Link href={datasetLink(table)} className="with-icon">
            <Icon name="table" />
            {alias?.name ?? table.name}
          </Link>
          <small>
            {table.namespace}/{table.name}
          </small>
        </td>
        <td className="number">{table.last ? short(table.snapshots) : "–"}</td>
        <td>
          {table.last ? (
            <button type="button" className="plain" aria-expanded={isOpen} onClick={toggle}>
              {table.last.id}
            </button>
          ) : (
            <span className="sub">none reported</span>
          )}
        </td>
        <td>
          {table.last ? (
            <>
              <span title={moment(table.last.at)}>{ago(table.last.at, now)}</span>{" "}
              {table.last.runId && <Link href={runLink(table.last.runId)}>by a run</Link>}
            </>
          ) : (
            <span title={moment(table.updatedAt)}>updated {ago(table.updatedAt, now)}</span>
          )}
        </td>
        <td>
          {table.last && <Link href={whyLink(datasetId(table))}>trace a row</Link>}{" "}
          <Link href={lineageLink(datasetId(table))}>graph</Link>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5}>
            <Snapshots name={table} />
          </td>
        </tr>
      )}
    </>
  );
}
