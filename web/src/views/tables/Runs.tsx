import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { jobId, jobLink, lineageLink, runLink } from "../../api/names";
import { often } from "../../api/queries";
import type { ListedRunPage, Name, Run } from "../../api/types";
import { StateBadge } from "../../components/StateBadge";
import { Empty, FirstEvent } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { errorOf, pulseOfRun, reasonOf, shownState } from "../../graph/state";
import { ago, moment, span } from "../../graph/words";
import { useNow } from "../../live/now";
import { Listing, PAGE, Page, StateFilter, useParams } from "./parts";

export function Runs() {
  useTitle("Runs");
  const [params, change] = useParams();
  const state = params.get("state") ?? "";
  const offset = Number(params.get("offset") ?? 0);
  const found = useQuery({
    queryKey: ["all-runs", state, offset],
    queryFn: ({ signal }) =>
      get<ListedRunPage>("/runs", { limit: PAGE, offset, state: state || null }, signal),
    refetchInterval: often,
    placeholderData: keepPreviousData,
  });
  const runs = found.data?.runs ?? [];
  return (
    <Page
      title="Runs"
      tools={<StateFilter value={state} change={(one) => change({ state: one, offset: null })} />}
    >
      <Listing
        what="runs"
        found={found}
        heads={["Job", "State", "Started", "Duration", "Why it ended"]}
        rows={runs.map(({ job, run }) => <Row key={run.id} job={job} run={run} />)}
        none={
          <Empty title={state ? "No run is in that state" : "No runs yet"}>
            {!state && <FirstEvent />}
          </Empty>
        }
        offset={offset}
        change={change}
      />
    </Page>
  );
}

function Row({ job, run }: { job: Name; run: Run }) {
  const now = useNow();
  const state = shownState(pulseOfRun(run), now);
  const began = run.startedAt ?? run.createdAt;
  const error = errorOf(run);
  return (
    <tr>
      <td className="wide">
        <Link href={jobLink(job)}>{job.name}</Link>
        <small>
          <Link href={runLink(run.id)}>{run.id}</Link>
        </small>
      </td>
      <td>
        <Link href={runLink(run.id)}>
          <StateBadge state={state} />
        </Link>
      </td>
      <td title={moment(began)}>{ago(began, now)}</td>
      <td>
        {run.durationMs !== null
          ? span(run.durationMs)
          : state === "running"
            ? span(now - Date.parse(began))
            : "–"}
      </td>
      <td className="why" title={error ?? ""}>
        {reasonOf(run)}
      </td>
      <td>
        <Link href={lineageLink(jobId(job))}>graph</Link>
      </td>
    </tr>
  );
}
