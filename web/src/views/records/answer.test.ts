import { expect, test } from "vitest";
import { gradeOf, readAnswer, recordsOf } from "./answer";

const record = (offset: number) => ({ topic: "orders", partition: 0, offset });
const answer = {
  table: "demo.default.stats",
  nodeId: "dataset:s3://w:stats",
  predicate: "total > 0",
  rows: [
    {
      values: { total: 7 },
      writes: [{ name: "daily", output: { name: "stats" } }],
      records: {
        records: [record(1)],
        rows: [record(2), record(1)].map((one) => ({ values: {}, records: [one] })),
      },
    },
  ],
};

test("what the command prints is read, with all of its records", () => {
  const found = readAnswer(JSON.stringify(answer));
  expect(found?.nodeId).toBe("dataset:s3://w:stats");
  expect(found?.notes).toEqual([]);
  expect(found?.rows.map((row) => recordsOf(row).map((one) => one.offset))).toEqual([[1, 2]]);
});

test.each(["", "{", "[]", "null", "{}", '{"nodeId": "a", "rows": [1]}', '{"rows": []}'])(
  "%j is no answer",
  (text) => {
    expect(readAnswer(text)).toBeNull();
  },
);

test("records are graded", () => {
  expect(gradeOf({ exact: true, complete: true })).toBe("exact");
  expect(gradeOf({ exact: false, complete: true })).toBe("superset");
  expect(gradeOf({ exact: false, complete: false })).toBe("incomplete");
});
