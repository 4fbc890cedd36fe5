// Decoded values as the cells of a table.
import type { Message } from "../../api/types";

const MOST = 12;

/** The columns of messages that are records: the fields of any, the first ones first. */
export function columnsOf(messages: readonly Pick<Message, "value">[]): string[] {
  const names = new Set<string>();
  for (const { value } of messages) {
    if (!value || value.isCut || !isRecord(value.value)) continue;
    for (const name of Object.keys(value.value)) names.add(name);
  }
  return [...names].slice(0, MOST);
}

export function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

/** A value on one line. */
export function cell(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value to be read whole. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
