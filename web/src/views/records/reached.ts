// How /reached is asked, and how its answer is told.
import { queryOptions } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Reached } from "../../api/types";

const OFFSETS = /^\s*(\d{1,15})\s*(?:[-–]\s*(\d{1,15})\s*)?$/;

/** An offset or a range of them; null where the text is neither. */
export function parseOffsets(text: string): { firstOffset: number; lastOffset: number } | null {
  const match = OFFSETS.exec(text);
  if (!match) return null;
  const firstOffset = Number(match[1]);
  const lastOffset = Number(match[2] ?? match[1]);
  return lastOffset < firstOffset ? null : { firstOffset, lastOffset };
}

export interface Place {
  partition: number | string;
  offsets?: string;
}

/** Records of a topic: which, as an address says it. */
function query(node: string, name: string, place?: Place): string {
  const params = new URLSearchParams({ [name]: node });
  if (place) params.set("partition", String(place.partition));
  if (place?.offsets) params.set("offsets", place.offsets);
  return params.toString();
}

/** The graph with what records of a topic reached. */
export const reachedLink = (node: string, place?: Place): string =>
  `/lineage?${new URLSearchParams({ node })}&${query(node, "records", place)}`;

/** The same as a table. */
export const recordsLink = (node: string, place?: Place): string =>
  `/records?${query(node, "node", place)}`;

/** How far runs have read the partition. */
export const readUpTo = ({
  partition,
  readUpTo: end,
}: Pick<Reached, "partition" | "readUpTo">): string =>
  end == null
    ? "No run has reported what it read of this topic."
    : end > 0
      ? `The job that is furthest has read partition ${partition} up to offset ${end - 1}.`
      : `No job has read a record of partition ${partition}.`;

export const reachedQuery = (node: string | null, partition: string, offsets: string) => {
  const range = parseOffsets(offsets);
  return queryOptions({
    queryKey: ["reached", node, partition, offsets],
    enabled: Boolean(node) && partition !== "" && range !== null,
    queryFn: ({ signal }) =>
      get<Reached>("/reached", { nodeId: node, partition, ...range }, signal),
  });
};
