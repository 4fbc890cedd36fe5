// Offsets and snapshots of a run, and the runs before and after it, where the server tells them.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { runLink } from "../../api/names";
import type { AdjacentRun, RunSide, RunLineage as Told } from "../../api/types";
import { Section } from "../lineage/PanelParts";

export function RunLineage({ id }: { id: string }) {
  const told = useQuery({
    queryKey: ["run-lineage", id],
    queryFn: ({ signal }) => get<Told>(`/runs/${encodeURIComponent(id)}/lineage`, {}, signal),
    retry: false,
  });
  if (!told.data) return null;
  const { inputs, outputs, upstreamRuns, downstreamRuns } = told.data;
  return (
    <>
      <Extents title="Offsets and snapshots" sides={[...inputs, ...outputs]} />
      <Runs title="Runs upstream" runs={upstreamRuns} />
      <Runs title="Runs downstream" runs={downstreamRuns} />
    </>
  );
}

function Extents({ title, sides }: { title: string; sides: RunSide[] }) {
  const told = sides.filter((side) => side.offsets || (side.snapshots?.length ?? 0) > 0);
  if (told.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="links">
        {told.map((side) => (
          <li key={side.nodeId}>
            {side.nodeId.slice(side.nodeId.lastIndexOf(":") + 1)}
            {Object.entries(side.offsets ?? {}).map(([partition, { from, to }]) => (
              <small key={partition}>
                partition {partition}: {from ?? "?"} to {to ?? "?"}
              </small>
            ))}
            {side.snapshots?.map((snapshot) => (
              <small key={String(snapshot)}>snapshot {snapshot}</small>
            ))}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Runs({ title, runs }: { title: string; runs: AdjacentRun[] }) {
  if (runs.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="links">
        {runs.slice(0, 20).map((run) => (
          <li key={run.runId + run.via}>
            <Link href={runLink(run.runId)}>{run.job.name}</Link>
            <small>{run.runId}</small>
          </li>
        ))}
      </ul>
    </Section>
  );
}
