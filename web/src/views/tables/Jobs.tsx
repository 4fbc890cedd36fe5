import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { jobId, jobLink, lineageLink, runLink } from "../../api/names";
import { often } from "../../api/queries";
import type { Job, JobPage } from "../../api/types";
import { Icon } from "../../components/Icon";
import { StateBadge } from "../../components/StateBadge";
import { Strip } from "../../components/Strip";
import { Empty, FirstEvent } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { shownState } from "../../graph/state";
import { ago, span } from "../../graph/words";
import { useNow } from "../../live/now";
import { usePulse } from "../../live/pulses";
import { pulseLine } from "../lineage/pulseLine";
import { Filter, Listing, PAGE, Page, StateFilter, useParams } from "./parts";

export function Jobs() {
  useTitle("Jobs");
  const [params, change] = useParams();
  const state = params.get("state") ?? "";
  const text = params.get("q") ?? "";
  const offset = Number(params.get("offset") ?? 0);
  const found = useQuery({
    queryKey: ["jobs", state, text, offset],
    queryFn: ({ signal }) =>
      get<JobPage>("/jobs", { limit: PAGE, offset, q: text, lastRunStates: state || null }, signal),
    refetchInterval: often,
    placeholderData: keepPreviousData,
  });
  const jobs = found.data?.jobs ?? [];
  return (
    <Page
      title="Jobs"
      tools={
        <>
          <Filter
            label="Filter by name"
            value={text}
            change={(q) => change({ q, offset: null }, true)}
          />
          <StateFilter value={state} change={(one) => change({ state: one, offset: null })} />
        </>
      }
    >
      <Listing
        what="jobs"
        found={found}
        heads={["Job", "State", "Now", "Last runs", "Duration", "Last event"]}
        rows={jobs.map((job) => <Row key={jobId(job)} job={job} />)}
        none={<None isFiltered={state !== "" || text !== ""} />}
        offset={offset}
        change={change}
      />
    </Page>
  );
}

function None({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No job matches" />
  ) : (
    <Empty title="No jobs yet">
      <FirstEvent />
    </Empty>
  );
}

function Row({ job }: { job: Job }) {
  const now = useNow();
  const pulse = usePulse(jobId(job), job);
  const state = shownState(pulse, now);
  return (
    <tr>
      <td className="wide">
        <Link href={jobLink(job)} className="with-icon">
          <Icon name={job.type === "STREAM" ? "stream" : "batch"} />
          {job.name}
        </Link>
        <small>{job.namespace}</small>
      </td>
      <td>
        {pulse.runId ? (
          <Link href={runLink(pulse.runId)}>
            <StateBadge state={state} />
          </Link>
        ) : (
          <StateBadge state={state} />
        )}
      </td>
      <td>{pulseLine(pulse, state, now)}</td>
      <td>
        <Strip runs={(job.latestRuns ?? []).slice(0, 10)} />
      </td>
      <td>{pulse.durationMs === null ? "–" : span(pulse.durationMs)}</td>
      <td>{ago(pulse.heardAt, now)}</td>
      <td>
        <Link href={lineageLink(jobId(job))}>graph</Link>
      </td>
    </tr>
  );
}
