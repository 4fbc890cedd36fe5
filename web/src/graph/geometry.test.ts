import { expect, test } from "vitest";
import { curve } from "./geometry";

test("an edge that leads back goes over the nodes at its ends, not behind them", () => {
  const heights = [...curve({ x: 400, y: 100 }, { x: 0, y: 120 }).matchAll(/-?\d+ (-?\d+)/g)].map(
    (found) => Number(found[1]),
  );
  expect(Math.min(...heights)).toBe(40);
  expect(curve({ x: 0, y: 0 }, { x: 100, y: 0 })).not.toContain("L");
});
