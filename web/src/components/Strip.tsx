// The last runs of a job as a strip of states, oldest first.
import { Link } from "wouter";
import { runLink } from "../api/names";
import type { Run } from "../api/types";
import { SIGN, stateOf } from "../graph/state";
import { moment, span } from "../graph/words";

export function Strip({ runs }: { runs: readonly Run[] }) {
  const longest = Math.max(1, ...runs.map((run) => run.durationMs ?? 0));
  return (
    <ol className="strip" aria-label="Runs, oldest first">
      {[...runs].reverse().map((run) => {
        const state = stateOf(run.state);
        const took = run.durationMs === null ? "" : `, took ${span(run.durationMs)}`;
        const told = `${state}, ${moment(run.startedAt ?? run.createdAt)}${took}`;
        const height = 20 + (80 * (run.durationMs ?? longest)) / longest;
        return (
          <li key={run.id}>
            <Link href={runLink(run.id)} className={`bar ${state}`} aria-label={told} title={told}>
              <span className="fill">
                <span style={{ height: `${height}%` }} />
              </span>
              <span aria-hidden="true">{SIGN[state]}</span>
            </Link>
          </li>
        );
      })}
    </ol>
  );
}
