// How fast a streaming run was over time, and how far behind.
import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { often } from "../../api/queries";
import type { ProgressPoint, Run, RunProgress } from "../../api/types";
import { type Dot, Line } from "../../components/Line";
import { Section } from "../lineage/PanelParts";

const dots = (points: ProgressPoint[], figure: "rowsPerSecond" | "lagRows"): Dot[] =>
  points.flatMap((point) => {
    const value = point[figure];
    return value === null ? [] : [{ at: Date.parse(point.at), value }];
  });

export function Throughput({ run }: { run: Run }) {
  const { data } = useQuery({
    queryKey: ["progress", run.id],
    queryFn: ({ signal }) =>
      get<RunProgress>(`/runs/${encodeURIComponent(run.id)}/progress`, {}, signal),
    refetchInterval: run.state === "RUNNING" ? often : false,
  });
  if (!data || data.points.length < 2) return null;
  return (
    <Section title="Throughput">
      <Line label="Rows per second" unit="rows/s" dots={dots(data.points, "rowsPerSecond")} />
      <Line label="Lag" unit="rows" dots={dots(data.points, "lagRows")} />
    </Section>
  );
}
