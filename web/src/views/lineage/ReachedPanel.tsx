// What records of a topic reached, in the order in which to run jobs again.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { runLink } from "../../api/names";
import type { Reached, ReachedJob, ReachedOutput } from "../../api/types";
import { CopyCommand } from "../../components/CopyCommand";
import { Icon } from "../../components/Icon";
import { StateBadge } from "../../components/StateBadge";
import { Failure, Waiting } from "../../components/Told";
import { kindOf } from "../../graph/kinds";
import { stateOf } from "../../graph/state";
import { batches, holding } from "../../graph/trail";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { reachedCommand } from "../records/command";
import { RecordsForm } from "../records/RecordsForm";
import { parseOffsets, reachedQuery, readUpTo, recordsLink } from "../records/reached";
import { IsolateButton, Section } from "./PanelParts";
import { NO_RECORDS, useView } from "./state";
import type { Scene } from "./useScene";

export function ReachedPanel({ scene }: { scene: Scene }) {
  const { state, change } = useView();
  const { partition, offsets } = state;
  const node = state.records ?? "";
  const found = useQuery(reachedQuery(node, partition, offsets));
  const name = scene.graph.nodes.get(node)?.data.name ?? node.slice(node.lastIndexOf(":") + 1);
  const place = { partition, offsets };
  return (
    <>
      <h2>
        <Icon name="topic" />
        Records of {name}
      </h2>
      <p className="sub">What they reached, and what to run again</p>
      <RecordsForm
        {...place}
        take={(partition, offsets) => change({ partition, offsets })}
        leave={() => change({ ...NO_RECORDS, isolate: false })}
      />
      {parseOffsets(offsets) === null && offsets !== "" && (
        <p className="failure">The address does not contain a valid range of offsets.</p>
      )}
      {found.isLoading && <Waiting what="the trace" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data && (
        <>
          <Summary reached={found.data} />
          <p className="deeds">
            <IsolateButton />
            <Link href={recordsLink(node, place)}>As a table</Link>
          </p>
          <Jobs jobs={found.data.jobs} />
          <Section title="On the command line">
            <CopyCommand text={reachedCommand(node, place)} />
          </Section>
        </>
      )}
    </>
  );
}

function Summary({ reached }: { reached: Reached }) {
  const { jobs, complete } = reached;
  if (jobs.length === 0)
    return <p>No job has reported that it read these records. {readUpTo(reached)}</p>;
  const runs = jobs.reduce((sum, job) => sum + job.runCount, 0);
  const outputs = jobs.flatMap((job) => job.outputs ?? []);
  const datasets = new Set(outputs.map((one) => one.nodeId)).size;
  const snapshots = outputs.reduce((sum, one) => sum + (one.snapshotCount ?? 0), 0);
  const figures: [string, number][] = [
    ["jobs", jobs.length],
    ["runs", runs],
    ["datasets", datasets],
    ["snapshots", snapshots],
  ];
  return (
    <>
      <dl className="figures-list">
        {figures.map(([what, count]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{count.toLocaleString("en")}</dd>
          </div>
        ))}
      </dl>
      {!complete && <p className="failure">The list is not complete: there are too many runs.</p>}
    </>
  );
}

function Jobs({ jobs }: { jobs: ReachedJob[] }) {
  const { change } = useView();
  if (jobs.length === 0) return null;
  return (
    <Section title="Run again, in this order">
      <ol className="steps reached">
        {jobs.map((job) => (
          <li key={job.nodeId} value={job.step}>
            <span className="sign" aria-hidden="true">
              {job.step}
            </span>
            <div>
              <button
                type="button"
                className="plain"
                onClick={() => change({ selected: job.nodeId })}
              >
                <strong>{job.name}</strong>
              </button>
              <Runs job={job} />
              <ul>
                {(job.outputs ?? []).map((one) => (
                  <Output key={one.nodeId} output={one} isExact={job.exact} />
                ))}
              </ul>
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Runs({ job }: { job: ReachedJob }) {
  const last = job.runs.at(-1);
  const reasons = [...new Set(job.runs.flatMap((run) => run.reason ?? []))];
  return (
    <>
      <small>
        {last && (
          <Link href={runLink(last.runId)} title="The last of these runs">
            <StateBadge state={stateOf(last.state)} />
          </Link>
        )}{" "}
        {batches(job)} · <span className="grade">{job.exact ? "exact" : "superset"}</span>
      </small>
      {reasons.map((reason) => (
        <small key={reason}>{reason}</small>
      ))}
    </>
  );
}

function Output({ output, isExact }: { output: ReachedOutput; isExact: boolean }) {
  const { change } = useView();
  const now = useNow();
  const { nodeId, namespace, name, since, snapshotCount = 0 } = output;
  return (
    <li>
      <Icon name={kindOf(namespace, name)} />
      <div>
        <button type="button" className="plain" onClick={() => change({ selected: nodeId })}>
          {name}
        </button>
        <small title={moment(since ?? null)}>
          {holding(snapshotCount, isExact)}
          {since && ` · since ${ago(since, now)}`}
        </small>
      </div>
    </li>
  );
}
