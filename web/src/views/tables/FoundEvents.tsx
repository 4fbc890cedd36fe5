// Events that hold a text or are of a type: the server looks through the log, a stretch at a time.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get } from "../../api/client";
import type { FoundEvents as Stretch } from "../../api/types";
import { Empty, Failure } from "../../components/Told";
import { moment } from "../../graph/words";
import { EventList } from "./EventList";
import { PAGE } from "./parts";

interface Props {
  text: string;
  kind: string;
  type: string;
}

const PAUSE = 250; // milliseconds without a key before it is looked for

export function FoundEvents({ text, kind, type }: Props) {
  const wanted = usePaused(text);
  const found = useInfiniteQuery({
    queryKey: ["found-events", wanted, kind, type],
    queryFn: ({ signal, pageParam }) =>
      get<Stretch>(
        "/events/search",
        { q: wanted, kind, type: type || null, from: pageParam, limit: PAGE },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
  });
  const stretches = found.data?.pages ?? [];
  const events = stretches.flatMap((one) => one.events);
  const looked = stretches.reduce((sum, one) => sum + one.looked, 0);
  const reached = stretches.at(-1)?.reached ?? null;
  const { hasNextPage, isFetching, fetchNextPage, isError } = found;
  // Nobody wants to press a button until there is something to see.
  const goesOn = events.length === 0 && hasNextPage && !isFetching && !isError;
  useEffect(() => {
    if (goesOn) void fetchNextPage();
  }, [goesOn, fetchNextPage]);
  const isDone = found.data && !hasNextPage && !isFetching;
  return (
    <>
      <p className="pager" role="status">
        {isFetching ? "Searching … " : ""}
        {events.length} found in {looked.toLocaleString("en")} events
        {reached ? `, back to ${moment(reached)}` : isDone ? " (all events)" : ""}
        {!isFetching && (
          <button type="button" onClick={() => void found.refetch()}>
            Search again
          </button>
        )}
      </p>
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {isDone && events.length === 0 && (
        <Empty title="No event matches">
          <p>The search covers whole events: names, facets, errors, SQL.</p>
        </Empty>
      )}
      <EventList events={events} />
      {hasNextPage && events.length > 0 && (
        <p>
          <button type="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
            {isFetching ? "Searching …" : "Search older events"}
          </button>
        </p>
      )}
    </>
  );
}

/** A text, once nobody writes on. */
function usePaused(text: string): string {
  const [told, setTold] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setTold(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return told;
}
