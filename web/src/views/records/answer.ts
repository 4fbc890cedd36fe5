// What `headwater why --json` prints, as far as the page shows it.
import type { Write } from "./why";

export interface Record {
  topic: string;
  partition: number;
  offset: number;
  message?: unknown;
}

export interface Records {
  exact: boolean;
  complete: boolean;
  reason: string;
  records: Record[];
  /** Whose rows the row was computed from. */
  table: string | null;
  rows: { values: { [column: string]: unknown }; snapshot: string | null; records: Record[] }[];
}

export interface RowAnswer {
  values: { [column: string]: unknown };
  snapshot: { id: string } | null;
  exact: boolean;
  reason: string | null;
  writes: Write[];
  records: Records | null;
}

export interface Answer {
  table: string;
  nodeId: string;
  predicate: string;
  rows: RowAnswer[];
  notes: string[];
}

/** Reads what was pasted; null where it is no answer of the command. */
export function readAnswer(text: string): Answer | null {
  let told: unknown;
  try {
    told = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(told) || typeof told.nodeId !== "string" || !Array.isArray(told.rows)) return null;
  if (!told.rows.every(isRow)) return null;
  return { table: "", predicate: "", notes: [], ...told } as unknown as Answer;
}

type Plain = { [name: string]: unknown };

const isObject = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isRow(row: unknown): boolean {
  if (!isObject(row) || !isObject(row.values) || !Array.isArray(row.writes)) return false;
  const isWrite = (one: unknown) => isObject(one) && isObject(one.output);
  const records = row.records ?? null;
  const isListed =
    isObject(records) && Array.isArray(records.records) && Array.isArray(records.rows);
  return row.writes.every(isWrite) && (records === null || isListed);
}

/** Whether these records are the ones: no more and no less. */
export const gradeOf = ({ exact, complete }: Pick<Records, "exact" | "complete">): string =>
  exact ? "exact" : complete ? "superset" : "incomplete";

/** The records of a row, those of the rows that it was computed from included. */
export function recordsOf({ records }: RowAnswer): Record[] {
  const found = [
    ...(records?.records ?? []),
    ...(records?.rows ?? []).flatMap((row) => row.records),
  ];
  const byPlace = found.map((one) => [`${one.topic}/${one.partition}@${one.offset}`, one] as const);
  return [...new Map(byPlace).values()];
}
