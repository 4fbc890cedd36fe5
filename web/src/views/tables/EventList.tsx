// Raw events, each to be opened and read.
import { Link } from "wouter";
import { datasetId, jobId, lineageLink, runLink } from "../../api/names";
import type { LineageEvent } from "../../api/types";
import { copy } from "../../components/clipboard";
import { StateDot } from "../../components/StateBadge";
import { stateOf } from "../../graph/state";
import { moment } from "../../graph/words";

export function EventList({ events }: { events: LineageEvent[] }) {
  return (
    <ol className="events">
      {events.map((event, number) => (
        <li key={`${event.eventTime}${event.run?.runId ?? ""}${event.eventType ?? ""}${number}`}>
          <Event event={event} />
        </li>
      ))}
    </ol>
  );
}

function Event({ event }: { event: LineageEvent }) {
  const thing = event.job ?? event.dataset;
  const ins = event.inputs?.length ?? 0;
  const outs = event.outputs?.length ?? 0;
  const facets = Object.keys(event.run?.facets ?? {}).join(", ");
  return (
    <details>
      <summary>
        <time dateTime={event.eventTime}>{moment(event.eventTime)}</time>
        <span className="event-kind">
          <StateDot state={stateOf(event.eventType)} />
          {event.eventType ?? (event.job ? "JOB" : "DATASET")}
        </span>
        <span className="event-name">{thing?.name}</span>
        <small>
          {ins} in, {outs} out{facets && ` · ${facets}`}
        </small>
      </summary>
      <p className="deeds">
        {event.run && <Link href={runLink(event.run.runId)}>Run</Link>}
        {event.job && <Link href={lineageLink(jobId(event.job))}>Graph</Link>}
        {event.dataset && <Link href={lineageLink(datasetId(event.dataset))}>Graph</Link>}
        <button type="button" onClick={() => void copy(JSON.stringify(event, null, 2))}>
          Copy
        </button>
      </p>
      <pre>{JSON.stringify(event, null, 2)}</pre>
    </details>
  );
}
