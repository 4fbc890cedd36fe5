import { expect, test } from "vitest";
import { batches, parseOffsets, type ReachedJob, recordsLink } from "./reached";

test.each([
  ["7", 7, 7],
  ["1000-2000", 1000, 2000],
  [" 1000 – 2000 ", 1000, 2000],
  ["5-5", 5, 5],
])("%s is a range of offsets", (text, firstOffset, lastOffset) => {
  expect(parseOffsets(text)).toEqual({ firstOffset, lastOffset });
});

test.each(["", "x", "-1", "5-4", "1-", "1-2-3", "1e3", "9".repeat(30)])("%j is none", (text) => {
  expect(parseOffsets(text)).toBeNull();
});

const run = { runId: "r", state: "RUNNING", since: "", exact: true, reason: null };
const job = (
  runCount: number,
  firstBatch: number | null,
  lastBatch: number | null,
): ReachedJob => ({
  nodeId: "job:a:b",
  namespace: "a",
  name: "b",
  step: 1,
  exact: true,
  runCount,
  runs: [{ ...run, firstBatch, lastBatch }],
  outputs: [],
});

test("batches are told of one run", () => {
  expect(batches(job(1, 3, 3))).toBe("batch 3");
  expect(batches(job(1, 3, 5))).toBe("batches 3 to 5");
  expect(batches(job(1, null, null))).toBe("1 run");
  expect(batches(job(4, 3, 5))).toBe("4 runs");
});

test("a link names a record", () => {
  expect(recordsLink("dataset:kafka://b:1:orders", { partition: 2, offset: 9 })).toBe(
    "/records?node=dataset%3Akafka%3A%2F%2Fb%3A1%3Aorders&partition=2&offsets=9",
  );
});
