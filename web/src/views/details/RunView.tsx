// A run: when it was, what it read and wrote, why it ended, and its events.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { datasetLink, jobId, jobLink, lineageLink } from "../../api/names";
import { often } from "../../api/queries";
import type { Facets, LineageEvent, Run, RunDataset } from "../../api/types";
import { Outside } from "../../components/Markdown";
import { StateBadge } from "../../components/StateBadge";
import { Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { logLinks } from "../../graph/logs";
import { errorOf, figure, pulseOfRun, record, shownState, stackOf } from "../../graph/state";
import { amount, moment, short, span } from "../../graph/words";
import { useNow } from "../../live/now";
import { Level, Section } from "../lineage/PanelParts";
import { lagOf } from "../lineage/pulseLine";
import { EventList } from "../tables/EventList";
import { useParams } from "../tables/parts";
import { RunLineage } from "./RunLineage";
import { Throughput } from "./Throughput";

export function RunView() {
  const [params] = useParams();
  const id = params.get("id") ?? "";
  useTitle(`Run ${id.slice(0, 8)}`);
  const run = useQuery({
    queryKey: ["run", id],
    queryFn: ({ signal }) => get<Run>(`/jobs/runs/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: often,
  });
  const events = useQuery({
    queryKey: ["run-events", id],
    queryFn: ({ signal }) =>
      get<{ events: LineageEvent[]; totalCount: number }>(
        "/events/lineage",
        { runId: id, limit: 50, kind: "all" },
        signal,
      ),
    refetchInterval: often,
  });
  if (run.error) return <Failure error={run.error} again={() => void run.refetch()} />;
  if (!run.data) return <Waiting what="the run" />;
  return (
    <div className="page">
      <Head run={run.data} job={events.data?.events.find((event) => event.job)?.job} />
      <Level value="h2">
        <div className="columns-2">
          <div>
            <Throughput run={run.data} />
            {events.data && (
              <Section title={`Events (${events.data.totalCount})`}>
                <EventList events={events.data.events} />
              </Section>
            )}
          </div>
          <div>
            <Versions title="Read" found={run.data.inputDatasetVersions} />
            <Versions title="Wrote" found={run.data.outputDatasetVersions} />
            <RunLineage id={id} />
          </div>
        </div>
      </Level>
    </div>
  );
}

function Head({ run, job }: { run: Run; job: LineageEvent["job"] }) {
  const now = useNow();
  const pulse = pulseOfRun(run);
  const state = shownState(pulse, now);
  const error = errorOf(run);
  const stack = stackOf(run);
  const logs = logLinks(run.facets);
  return (
    <header className="detail-head">
      <h1>Run {job ? <>of {<Link href={jobLink(job)}>{job.name}</Link>}</> : null}</h1>
      <p className="sub">{run.id}</p>
      <p className="state-line">
        <StateBadge state={state} />{" "}
        {run.durationMs !== null
          ? `took ${span(run.durationMs)}`
          : pulse.startedAt && state === "running"
            ? `for ${span(now - pulse.startedAt)}`
            : ""}
        {pulse.rate !== null && ` · ${short(pulse.rate)} rows/s`}
        {pulse.rows !== null && ` · ${short(pulse.rows)} rows`}
        {lagOf(pulse) && ` · ${lagOf(pulse)}`}
      </p>
      <dl className="timeline">
        <div>
          <dt>started</dt>
          <dd>{moment(run.startedAt ?? run.createdAt)}</dd>
        </div>
        <div>
          <dt>last event</dt>
          <dd>{moment(run.updatedAt)}</dd>
        </div>
        <div>
          <dt>ended</dt>
          <dd>{moment(run.endedAt)}</dd>
        </div>
      </dl>
      {error && <pre className="trace">{stack || error}</pre>}
      <p className="deeds">
        {job && <Link href={lineageLink(jobId(job))}>Show in the graph</Link>}
        {logs.map((href, number) => (
          <Outside key={href} href={href}>
            {number === 0 ? "Log" : `Log ${number + 1}`}
          </Outside>
        ))}
      </p>
    </header>
  );
}

function Versions({ title, found }: { title: string; found: RunDataset[] }) {
  if (found.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="links">
        {found.map(({ datasetVersionId: one, facets }) => (
          <li key={one.namespace + one.name}>
            <Link href={datasetLink(one)}>{one.name}</Link>
            <small>
              {[one.namespace, `version ${one.version.slice(0, 8)}`, written(facets)]
                .filter(Boolean)
                .join(" · ")}
            </small>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function written(facets: Facets): string {
  const told = record(facets.outputStatistics);
  return amount(figure(told.rowCount), figure(told.size), figure(told.fileCount));
}
