// The raw stream of events, live unless held.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { LineageEvent } from "../../api/types";
import { Empty, Failure, FirstEvent, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { EventList } from "./EventList";
import { Filter, PAGE, Page, Pager, useParams } from "./parts";

const KINDS = ["all", "run", "job", "dataset"];

export function Events() {
  useTitle("Events");
  const [params, change] = useParams();
  const [isHeld, setHeld] = useState(false);
  const kind = params.get("kind") ?? "all";
  const text = params.get("q") ?? "";
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
  const wanted = text.toLowerCase();
  const events = (found.data?.events ?? []).filter(
    (event) => !wanted || JSON.stringify(event).toLowerCase().includes(wanted),
  );
  return (
    <Page
      title="Events"
      tools={
        <>
          <Filter label="Filter by any text" value={text} change={(q) => change({ q }, true)} />
          <select
            aria-label="Kind"
            value={kind}
            onChange={(event) => change({ kind: event.target.value, offset: null })}
          >
            {KINDS.map((one) => (
              <option key={one} value={one}>
                {one === "all" ? "all events" : `${one} events`}
              </option>
            ))}
          </select>
          <button type="button" aria-pressed={isHeld} onClick={() => setHeld(!isHeld)}>
            Hold still
          </button>
        </>
      }
    >
      {found.isLoading && <Waiting what="events" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data && events.length === 0 && (
        <Empty title={text ? "No event here holds that" : "No events yet"}>
          {!text && <FirstEvent />}
        </Empty>
      )}
      <EventList events={events} />
      <Pager
        total={found.data?.totalCount ?? 0}
        offset={offset}
        go={(next) => change({ offset: String(next) })}
      />
    </Page>
  );
}
