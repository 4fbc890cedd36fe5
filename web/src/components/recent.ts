// What was opened from the search lately, on this machine.
import type { SearchResult } from "../api/types";

const PLACE = "headwater.recent";
const MOST = 8;

export function recent(): SearchResult[] {
  try {
    const told: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(told) ? (told as SearchResult[]).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function remember(result: SearchResult): void {
  const others = recent().filter((one) => one.nodeId !== result.nodeId);
  try {
    localStorage.setItem(PLACE, JSON.stringify([result, ...others].slice(0, MOST)));
  } catch {
    // Without storage nothing is remembered.
  }
}
