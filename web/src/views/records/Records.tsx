// What records of a topic reached: jobs in the order in which to run them again, and what they wrote.
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "wouter";
import { lineageLink, runLink } from "../../api/names";
import type { ReachedJob, ReachedOutput } from "../../api/types";
import { Icon } from "../../components/Icon";
import { StateBadge } from "../../components/StateBadge";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { kindOf } from "../../graph/kinds";
import { stateOf } from "../../graph/state";
import { batches } from "../../graph/trail";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { Page, useParams } from "../tables/parts";
import { RecordsForm } from "./RecordsForm";
import { parseOffsets, reachedLink, reachedQuery, readUpTo } from "./reached";
import { whyLink } from "./why";

const SHOWN = 3; // snapshots of a table

export function Records() {
  const [params, change] = useParams();
  const node = params.get("node") ?? "";
  const [partition, offsets] = [params.get("partition") ?? "0", params.get("offsets") ?? ""];
  const range = parseOffsets(offsets);
  const name = node.slice(node.lastIndexOf(":") + 1);
  useTitle(`Records of ${name}`);
  const found = useQuery(reachedQuery(node, partition, offsets));
  const jobs = found.data?.jobs ?? [];
  return (
    <Page
      title={`What records of ${name || "…"} reached`}
      tools={
        node && (
          <>
            <RecordsForm
              {...{ partition, offsets }}
              take={(partition, offsets) => change({ partition, offsets })}
            />
            {range && (
              <Link href={reachedLink(node, { partition, offsets })}>Show in the graph</Link>
            )}
          </>
        )
      }
    >
      {(!node || range === null) && (
        <Empty title={node ? "Which records?" : "No topic is selected"}>
          <p>
            {node
              ? "Enter an offset or a range such as 1000-2000."
              : "Open a topic, and choose Trace records there."}
          </p>
        </Empty>
      )}
      {found.isLoading && <Waiting what="the trace" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data && jobs.length === 0 && (
        <Empty title="No job has reported that it read these records">
          <p>{readUpTo(found.data)}</p>
        </Empty>
      )}
      {jobs.length > 0 && <Jobs jobs={jobs} />}
      {found.data?.complete === false && (
        <p className="failure">The list is not complete: there are too many runs.</p>
      )}
    </Page>
  );
}

function Jobs({ jobs }: { jobs: ReachedJob[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th className="number">Step</th>
          <th>Job</th>
          <th>Runs</th>
          <th>Records</th>
          <th>Wrote</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <Row key={job.nodeId} job={job} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ job }: { job: ReachedJob }) {
  const last = job.runs.at(-1);
  const reasons = [...new Set(job.runs.flatMap((run) => run.reason ?? []))];
  return (
    <tr>
      <td className="number">{job.step}</td>
      <td className="wide">
        <Link href={lineageLink(job.nodeId)}>{job.name}</Link>
        <small>{job.namespace}</small>
      </td>
      <td>
        {last && (
          <Link href={runLink(last.runId)}>
            <StateBadge state={stateOf(last.state)} />
          </Link>
        )}
        <small>{batches(job)}</small>
      </td>
      <td className="wide">
        {job.exact ? "exact" : "superset"}
        {reasons.map((one) => (
          <small key={one}>{one}</small>
        ))}
      </td>
      <td className="wide">
        {(job.outputs ?? []).map((one) => (
          <Output key={one.nodeId} output={one} />
        ))}
      </td>
    </tr>
  );
}

function Output({ output }: { output: ReachedOutput }) {
  const now = useNow();
  const listed = output.snapshots ?? [];
  const unlisted = (output.snapshotCount ?? 0) - listed.length;
  return (
    <div>
      <Link href={lineageLink(output.nodeId)} className="with-icon">
        <Icon name={kindOf(output.namespace, output.name)} />
        {output.name}
      </Link>
      {output.since && <small title={moment(output.since)}>since {ago(output.since, now)}</small>}
      {listed.length > 0 && (
        <small>
          snapshots <SnapshotLinks node={output.nodeId} ids={listed.slice(0, SHOWN)} />
        </small>
      )}
      {listed.length > SHOWN && (
        <details>
          <summary>{(output.snapshotCount ?? 0) - SHOWN} more snapshots</summary>
          <small>
            <SnapshotLinks node={output.nodeId} ids={listed.slice(SHOWN)} />
            {unlisted > 0 && ` and ${unlisted} more`}
          </small>
        </details>
      )}
    </div>
  );
}

function SnapshotLinks({ node, ids }: { node: string; ids: string[] }) {
  return ids.map((id, number) => (
    <Fragment key={id}>
      {number > 0 && ", "}
      <Link href={whyLink(node, id)}>{id}</Link>
    </Fragment>
  ));
}
