// The lines between nodes.
import type { Point } from "./sizes";

const LIFT = 60; // how far above its ends an edge goes that leads back
const TURN = 48;

/** A curve that leaves to the right and arrives from the left; one that leads back goes over. */
export function curve(from: Point, to: Point): string {
  if (to.x < from.x) return over(from, to);
  const reach = bend(from, to);
  return `M${from.x} ${from.y}C${from.x + reach} ${from.y} ${to.x - reach} ${to.y} ${to.x} ${to.y}`;
}

function over(from: Point, to: Point): string {
  const top = Math.min(from.y, to.y) - LIFT;
  const up = `C${from.x + TURN} ${from.y} ${from.x + TURN} ${top} ${from.x} ${top}`;
  const down = `C${to.x - TURN} ${top} ${to.x - TURN} ${to.y} ${to.x} ${to.y}`;
  return `M${from.x} ${from.y}${up}L${to.x} ${top}${down}`;
}

export function bend(from: Point, to: Point): number {
  const across = to.x - from.x;
  return across > 0 ? Math.max(24, across / 2) : Math.min(220, 60 - across / 3);
}

/** How thick an edge is: more where more flows. */
export function thickness(rowsPerSecond: number | null): number {
  if (rowsPerSecond === null || rowsPerSecond <= 0) return 1.5;
  return Math.min(5, 1.5 + Math.log10(1 + rowsPerSecond) * 0.6);
}
