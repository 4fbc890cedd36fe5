import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { jobLink, runLink } from "../../api/names";
import { jobQuery, runsQuery } from "../../api/queries";
import { Icon } from "../../components/Icon";
import { Markdown } from "../../components/Markdown";
import { StateBadge } from "../../components/StateBadge";
import { Strip } from "../../components/Strip";
import { Failure, Waiting } from "../../components/Told";
import { WrappedName } from "../../components/WrappedName";
import type { JobNode } from "../../graph/model";
import { type Pulse, shownState } from "../../graph/state";
import { ago, short, span } from "../../graph/words";
import { useNow } from "../../live/now";
import { usePulse } from "../../live/pulses";
import { Children } from "./Children";
import { Datasets, Owners, Section, Source, Tags } from "./PanelParts";
import { lagOf } from "./pulseLine";
import { useView } from "./state";

export function JobPanel({ node }: { node: JobNode }) {
  const { change } = useView();
  const now = useNow();
  const pulse = usePulse(node.id, node.data);
  const state = shownState(pulse, now);
  const job = useQuery(jobQuery(node.data.id));
  const runs = useQuery(runsQuery(node.data.id));
  const facets = { ...job.data?.facets, ...job.data?.latestRun?.facets };
  return (
    <>
      <h2>
        <Icon name={node.data.type === "STREAM" ? "stream" : "batch"} />
        <WrappedName name={node.data.name} />
      </h2>
      <p className="sub">
        {node.data.type === "STREAM" ? "streaming job" : "batch job"} · {node.data.namespace}
        {node.data.parentJobName && <> · part of {node.data.parentJobName}</>}
      </p>
      <p className="state-line">
        <StateBadge state={state} /> <span>{duration(pulse, now)}</span>
      </p>
      {pulse.error && state !== "running" && <pre className="trace">{pulse.error}</pre>}
      <Figures pulse={pulse} now={now} />
      {node.data.description && <Markdown text={node.data.description} />}
      <Tags tags={job.data?.tags ?? []} />
      <p className="deeds">
        <button type="button" onClick={() => change({ anchors: [node.id] })}>
          Centre here
        </button>
        <Link href={jobLink(node.data.id)}>Details</Link>
        {pulse.runId && <Link href={runLink(pulse.runId)}>Last run</Link>}
      </p>
      {job.isLoading && <Waiting what="the job" />}
      {job.error && <Failure error={job.error} />}
      {runs.data && runs.data.runs.length > 0 && (
        <Section title="Runs">
          <Strip runs={runs.data.runs} />
        </Section>
      )}
      <Children of={node.data.id} />
      <Datasets title="Reads" names={job.data?.inputs ?? []} />
      <Datasets title="Writes" names={job.data?.outputs ?? []} />
      <Owners facets={facets} />
      <Source facets={facets} />
    </>
  );
}

function duration(pulse: Pulse, now: number): string {
  if (pulse.state === "running" && pulse.startedAt) return `for ${span(now - pulse.startedAt)}`;
  if (pulse.heardAt === null) return "";
  const took = pulse.durationMs === null ? "" : `, took ${span(pulse.durationMs)}`;
  return `${ago(pulse.heardAt, now)}${took}`;
}

function Figures({ pulse, now }: { pulse: Pulse; now: number }) {
  const figures: [string, string][] = [];
  if (pulse.rate !== null) figures.push(["rows per second", short(pulse.rate)]);
  if (pulse.rows !== null) figures.push(["rows in total", short(pulse.rows)]);
  const lag = lagOf(pulse);
  if (lag) figures.push(["delay", lag]);
  if (pulse.heardAt !== null) figures.push(["last heard", ago(pulse.heardAt, now)]);
  if (figures.length === 0) return null;
  return (
    <dl className="figures-list">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
