// A job: its runs as a strip, durations over time, what it reads and writes, its source.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { jobId, lineageLink, runLink } from "../../api/names";
import { jobQuery, runsQuery } from "../../api/queries";
import type { Job, Run } from "../../api/types";
import { Bars } from "../../components/Bars";
import { Icon } from "../../components/Icon";
import { Markdown } from "../../components/Markdown";
import { StateBadge } from "../../components/StateBadge";
import { Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { WrappedName } from "../../components/WrappedName";
import { pulseOfRun, reasonOf, shownState, stateOf } from "../../graph/state";
import { ago, moment, short, span } from "../../graph/words";
import { useNow } from "../../live/now";
import { usePulse } from "../../live/pulses";
import { Children } from "../lineage/Children";
import { Datasets, Level, Owners, Section, Source, Tags } from "../lineage/PanelParts";
import { pulseLine } from "../lineage/pulseLine";
import { useParams } from "../tables/parts";
import { Throughput } from "./Throughput";

export function JobView() {
  const [params] = useParams();
  const name = { namespace: params.get("namespace") ?? "", name: params.get("name") ?? "" };
  useTitle(name.name);
  const job = useQuery(jobQuery(name));
  const runs = useQuery(runsQuery(name, 60));
  if (job.error) return <Failure error={job.error} again={() => void job.refetch()} />;
  if (!job.data) return <Waiting what="the job" />;
  return (
    <div className="page">
      <Head job={job.data} />
      <Level value="h2">
        <div className="columns-2">
          <div>
            {job.data.latestRun && <Throughput run={job.data.latestRun} />}
            {runs.data && <Times runs={runs.data.runs} />}
            {runs.data && <Table runs={runs.data.runs} />}
          </div>
          <div>
            <Children of={job.data.id} />
            <Datasets title="Reads" names={job.data.inputs} />
            <Datasets title="Writes" names={job.data.outputs} />
            <Owners facets={job.data.facets} />
            <Source facets={{ ...job.data.facets, ...job.data.latestRun?.facets }} />
          </div>
        </div>
      </Level>
    </div>
  );
}

function Head({ job }: { job: Job }) {
  const now = useNow();
  const pulse = usePulse(jobId(job), job);
  const state = shownState(pulse, now);
  return (
    <header className="detail-head">
      <h1>
        <Icon name={job.type === "STREAM" ? "stream" : "batch"} /> <WrappedName name={job.name} />
      </h1>
      <p className="sub">
        {job.type === "STREAM" ? "streaming job" : "batch job"} · {job.namespace}
        {job.parentJobName && <> · part of {job.parentJobName}</>}
        {job.location && <> · {job.location}</>}
      </p>
      <p className="state-line">
        <StateBadge state={state} /> {pulseLine(pulse, state, now)}
        {pulse.rows !== null && <> · {short(pulse.rows)} rows in total</>}
      </p>
      {job.description && <Markdown text={job.description} />}
      {pulse.error && state !== "running" && <pre className="trace">{pulse.error}</pre>}
      <Tags tags={job.tags} />
      <p className="deeds">
        <Link href={lineageLink(jobId(job))}>Show in the graph</Link>
        <Link href={`/impact?node=${encodeURIComponent(jobId(job))}`}>Impact</Link>
      </p>
    </header>
  );
}

function Times({ runs }: { runs: Run[] }) {
  const ended = runs.filter((run) => run.durationMs !== null).reverse();
  if (ended.length < 2) return null;
  return (
    <Section title="Duration of runs">
      <Bars
        label="Duration of runs, oldest first"
        bars={ended.map((run) => ({
          key: run.id,
          value: run.durationMs ?? 0,
          tone: stateOf(run.state),
          told: `${stateOf(run.state)}, ${moment(run.startedAt)}, took ${span(run.durationMs ?? 0)}`,
          href: runLink(run.id),
        }))}
        write={span}
      />
    </Section>
  );
}

function Table({ runs }: { runs: Run[] }) {
  const now = useNow();
  return (
    <Section title={runs.length === 1 ? "Last run" : `Last ${runs.length} runs`}>
      <table>
        <thead>
          <tr>
            <th>State</th>
            <th>Started</th>
            <th>Duration</th>
            <th>Rows</th>
            <th>Why it ended</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => {
            const pulse = pulseOfRun(run);
            return (
              <tr key={run.id}>
                <td>
                  <Link href={runLink(run.id)}>
                    <StateBadge state={shownState(pulse, now)} />
                  </Link>
                </td>
                <td title={moment(run.startedAt)}>{ago(run.startedAt ?? run.createdAt, now)}</td>
                <td>{run.durationMs === null ? "–" : span(run.durationMs)}</td>
                <td>{pulse.rows === null ? "–" : short(pulse.rows)}</td>
                <td className="why">{reasonOf(run)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}
