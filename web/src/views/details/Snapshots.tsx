// Snapshots of a table, each with the Kafka offsets that it holds.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { datasetId, runLink, under } from "../../api/names";
import { snapshotsQuery } from "../../api/queries";
import type { Name, SnapshotOffsets } from "../../api/types";
import { Failure } from "../../components/Told";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { Section } from "../lineage/PanelParts";
import { whyLink } from "../records/why";

const FEW = 5;

export function Snapshots({ name }: { name: Name }) {
  const now = useNow();
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<string | null>(null);
  const { data } = useQuery(snapshotsQuery(name));
  const found = data?.snapshots ?? [];
  if (found.length === 0) return null;
  return (
    <Section title="Snapshots, latest first">
      <ul className="links">
        {found.slice(0, all ? undefined : FEW).map((one) => (
          <li key={one.id}>
            <button
              type="button"
              className="plain"
              aria-expanded={open === one.id}
              onClick={() => setOpen(open === one.id ? null : one.id)}
            >
              {one.id}
            </button>
            <small title={moment(one.at)}>
              {ago(one.at, now)} {one.runId && <Link href={runLink(one.runId)}>by a run</Link>} ·{" "}
              <Link href={whyLink(datasetId(name), one.id)}>Trace</Link>
            </small>
            {open === one.id && <Offsets name={name} snapshot={one.id} />}
          </li>
        ))}
      </ul>
      {found.length > FEW && !all && (
        <button type="button" className="plain" onClick={() => setAll(true)}>
          {found.length - FEW} more
        </button>
      )}
    </Section>
  );
}

function Offsets({ name, snapshot }: { name: Name; snapshot: string }) {
  const { data, error } = useQuery({
    queryKey: ["snapshot-offsets", name.namespace, name.name, snapshot],
    queryFn: ({ signal }) =>
      get<SnapshotOffsets>(
        `${under("datasets", name)}/snapshots/${encodeURIComponent(snapshot)}/offsets`,
        {},
        signal,
      ),
  });
  if (error) return <Failure error={error} />;
  const told = Object.entries(data?.offsets ?? {}).flatMap(([topic, partitions]) =>
    Object.entries(partitions).map(([partition, { from, to }]) => ({
      key: `${topic}/${partition}`,
      text: `${topic}, partition ${partition}: ${from ?? "?"} to ${to ?? "?"}`,
    })),
  );
  return told.map(({ key, text }) => <small key={key}>{text}</small>);
}
