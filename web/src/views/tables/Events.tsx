// The raw stream of events, live unless held; with a filter, what the server finds in all of them.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { LineageEvent } from "../../api/types";
import { Empty, Failure, FirstEvent, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { EventList } from "./EventList";
import { FoundEvents } from "./FoundEvents";
import { Filter, PAGE, Page, Pager, useParams } from "./parts";

const KINDS: [string, string][] = [
  ["all", "all events"],
  ["run", "run events"],
  ["job", "job events"],
  ["dataset", "dataset events"],
];
const TYPES: [string, string][] = [
  ["", "any type"],
  ["START", "START"],
  ["RUNNING", "RUNNING"],
  ["COMPLETE", "COMPLETE"],
  ["FAIL", "FAIL"],
  ["ABORT", "ABORT"],
];

export function Events() {
  useTitle("Events");
  const [params, change] = useParams();
  const [isHeld, setHeld] = useState(false);
  const kind = params.get("kind") ?? "all";
  const type = params.get("type") ?? "";
  const text = params.get("q") ?? "";
  const isFiltered = text !== "" || type !== "";
  return (
    <Page
      title="Events"
      tools={
        <>
          <Filter
            label="Search event text"
            value={text}
            change={(q) => change({ q, offset: null }, true)}
          />
          <Choice
            label="Type"
            value={type}
            choices={TYPES}
            change={(next) => change({ type: next, offset: null })}
          />
          <Choice
            label="Kind"
            value={kind}
            choices={KINDS}
            change={(next) => change({ kind: next, offset: null })}
          />
          <button
            type="button"
            aria-pressed={isHeld}
            disabled={isFiltered}
            onClick={() => setHeld(!isHeld)}
          >
            Pause
          </button>
        </>
      }
    >
      {isFiltered ? (
        <FoundEvents key={`${kind}/${type}`} text={text} kind={kind} type={type} />
      ) : (
        <Latest kind={kind} isHeld={isHeld} />
      )}
    </Page>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  choices: [string, string][];
  change: (value: string) => void;
}

function Choice({ label, value, choices, change }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => change(event.target.value)}>
      {choices.map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  );
}

function Latest({ kind, isHeld }: { kind: string; isHeld: boolean }) {
  const [params, change] = useParams();
  const offset = Number(params.get("offset") ?? 0);
  const found = useQuery({
    queryKey: ["events", kind, offset],
    queryFn: ({ signal }) =>
      get<{ events: LineageEvent[]; totalCount: number }>(
        "/events/lineage",
        { kind, limit: PAGE, offset },
        signal,
      ),
    refetchInterval: isHeld || offset > 0 ? false : 2_000,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      {found.isLoading && <Waiting what="events" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data?.events.length === 0 && (
        <Empty title="No events yet">
          <FirstEvent />
        </Empty>
      )}
      <EventList events={found.data?.events ?? []} />
      <Pager
        total={found.data?.totalCount ?? 0}
        offset={offset}
        go={(next) => change({ offset: String(next) })}
      />
    </>
  );
}
