// How large nodes are drawn, in pixels of the graph; layout and drawing agree on these.
import type { GraphNode } from "./model";

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export const WIDTH = 216;
export const ROW = 22; // a column in an open card
export const FOOT = 24; // the line beneath columns
const LINE = 18;
const LETTERS = 19; // of a name, on one line
const JOB_LETTERS = 17; // a capsule's round ends take some of it
const MOST_LINES = 3;

/** A name in the parts between which a line may end. */
export function partsOf(name: string): string[] {
  return name.match(/[^/._:-]*[/._:-]+|[^/._:-]+/g) ?? [name];
}

/** Lines that a name takes: several rather than an ellipsis. */
export function linesOf(name: string, letters = LETTERS): number {
  let lines = 1;
  let used = 0;
  for (const { length } of partsOf(name)) {
    if (used > 0 && used + length > letters) {
      lines += 1;
      used = 0;
    }
    used += length;
    while (used > letters) {
      lines += 1;
      used -= letters;
    }
  }
  return Math.min(MOST_LINES, lines);
}

/** The height of a card without columns, and of a capsule. */
export function headHeight(node: GraphNode): number {
  const lines =
    node.kind === "job" ? linesOf(node.data.simpleName, JOB_LETTERS) : linesOf(node.data.name);
  return 38 + lines * LINE;
}

/** Columns that a card shows: all where it is open, else those that are lit. */
export interface Shown {
  rows: string[];
  more: number;
}

export function sizeOf(node: GraphNode, shown?: Shown): Size {
  const head = headHeight(node);
  if (!shown || (shown.rows.length === 0 && shown.more === 0))
    return { width: WIDTH, height: head };
  const foot = shown.more > 0 ? FOOT : 0;
  return { width: WIDTH, height: head + shown.rows.length * ROW + foot + 4 };
}

/** How far beneath the top of a card a column's middle is. */
export function rowMiddle(node: GraphNode, index: number): number {
  return headHeight(node) + index * ROW + ROW / 2;
}
