import { expect, test } from "vitest";
import { type Change, near, scaleOf } from "./times";

const at = (minute: number): Change => ({
  at: new Date(Date.UTC(2026, 2, 2, 8, minute)).toISOString(),
  kinds: [],
  nodeIds: [],
  runId: null,
});
const NOW = Date.UTC(2026, 2, 2, 9);
const CHANGES = [at(0), at(10), at(30)];
const time = (change: Change | undefined) => Date.parse(change?.at ?? "");

test("the scale holds every change, and ends now", () => {
  const scale = scaleOf(CHANGES, NOW);
  expect(scale.place(time(CHANGES[0]))).toBeGreaterThan(0);
  expect(scale.place(NOW)).toBe(1);
});

test("a range cuts what is older", () => {
  const scale = scaleOf(CHANGES, NOW, 40 * 60_000);
  expect(scale.place(time(CHANGES[0]))).toBeLessThan(0);
  expect(scale.place(time(CHANGES[2]))).toBeCloseTo(0.25);
});

test("one steps from change to change", () => {
  expect(near(CHANGES, NOW, "before")).toBe(time(CHANGES[2]));
  expect(near(CHANGES, time(CHANGES[2]), "before")).toBe(time(CHANGES[1]));
  expect(near(CHANGES, time(CHANGES[1]), "after")).toBe(time(CHANGES[2]));
  expect(near(CHANGES, NOW, "after")).toBeNull();
  expect(near([], NOW, "before")).toBeNull();
});
