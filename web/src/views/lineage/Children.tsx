// The jobs that a job starts: the tasks of a DAG, the models of a dbt run, the writes of an application.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { jobId, jobLink, lineageLink } from "../../api/names";
import { childrenQuery } from "../../api/queries";
import type { Name } from "../../api/types";
import { StateDot } from "../../components/StateBadge";
import { stateOf } from "../../graph/state";
import { Section } from "./PanelParts";

export function Children({ of }: { of: Name }) {
  const children = useQuery(childrenQuery(of));
  const { jobs, totalCount } = children.data ?? { jobs: [], totalCount: 0 };
  if (jobs.length === 0) return null;
  return (
    <Section title={`Child jobs (${totalCount})`}>
      <ul className="links">
        {jobs.map((job) => (
          <li key={jobId(job)}>
            <StateDot state={stateOf(job.latestRun?.state)} />{" "}
            <Link href={jobLink(job)}>{job.simpleName}</Link>{" "}
            <Link href={lineageLink(jobId(job))}>
              <small>in the graph</small>
            </Link>
          </li>
        ))}
        {totalCount > jobs.length && <li className="rest">{totalCount - jobs.length} more</li>}
      </ul>
    </Section>
  );
}
