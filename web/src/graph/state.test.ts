import { expect, test } from "vitest";
import type { Run } from "../api/types";
import { kindOf } from "./kinds";
import { pulseOfRun, reasonOf, shownState, stackOf, stateOf } from "./state";
import { ago, amount, short, span } from "./words";

const AT = "2026-03-02T08:00:00Z";
const NOW = Date.parse(AT);

function running(facets: Record<string, unknown>): Run {
  return {
    id: "r",
    createdAt: AT,
    updatedAt: AT,
    state: "RUNNING",
    startedAt: AT,
    endedAt: null,
    durationMs: null,
    nominalStartTime: null,
    nominalEndTime: null,
    args: {},
    jobVersion: null,
    inputDatasetVersions: [],
    outputDatasetVersions: [],
    facets,
  };
}

test("why a run failed is told by Spark's exception, or by the checks that failed", () => {
  const exception = { message: "disk is full\nat x", stackTrace: "java.io.IOException" };
  const spark = { ...running({ "spark.exception": exception }), state: "FAILED" as const };
  expect(reasonOf(spark)).toBe("disk is full");
  expect(stackOf(spark)).toBe("java.io.IOException");
  const assertions = [
    { assertion: "unique", column: "id", success: false },
    { assertion: "not_null", column: "id", success: true },
  ];
  const datasetVersionId = { namespace: "n", name: "t", version: "" };
  const read = [{ datasetVersionId, facets: { dataQualityAssertions: { assertions } } }];
  const tested = { ...running({}), state: "FAILED" as const, inputDatasetVersions: read };
  expect(reasonOf(tested)).toBe("failed checks: unique (id)");
  expect(reasonOf({ ...tested, state: "COMPLETED" })).toBe("");
});

test("a run that is late to speak is silent, and one that promised nothing is not", () => {
  const leased = pulseOfRun(running({ headwater_lease: { seconds: 30 } }));
  expect(shownState(leased, NOW + 10_000)).toBe("running");
  expect(shownState(leased, NOW + 25_000)).toBe("silent");
  expect(shownState(pulseOfRun(running({})), NOW + 3_600_000)).toBe("running");
});

test("progress tells rate, lag and delay", () => {
  const progress = {
    processedRowsPerSecond: 998.4,
    rows: 12,
    watermark: "2026-03-02T07:59:58Z",
    sources: [{ lag: 3 }, { lag: 7 }, { lag: null }],
  };
  const pulse = pulseOfRun(running({ headwater_progress: progress }));
  expect([pulse.rate, pulse.rows, pulse.lagRows, pulse.lagSeconds]).toEqual([998.4, 12, 7, 2]);
});

test("states go by the words of runs and of events", () => {
  expect(["COMPLETE", "FAILED", "ABORT", "START", "OTHER"].map(stateOf)).toEqual([
    "completed",
    "failed",
    "aborted",
    "running",
    "unknown",
  ]);
});

test("figures and times are short", () => {
  expect([998, 12_345, 4_100_000, 0.44].map(short)).toEqual(["998", "12.3k", "4.1M", "0.4"]);
  expect([400, 12_000, 180_000, 7_200_000].map(span)).toEqual(["0.4 s", "12 s", "3 min", "2 h"]);
  expect(ago(NOW, NOW + 5_000)).toBe("5 s ago");
  expect(ago(null, NOW)).toBe("never");
});

test("datasets are known by where they live", () => {
  expect(kindOf("kafka://b:9092", "orders")).toBe("topic");
  expect(kindOf("s3://warehouse", "default/orders")).toBe("table");
  expect(kindOf("s3://bucket", "orders")).toBe("objects");
  expect(kindOf("postgres://h:5432", "db.t")).toBe("database");
});

test("what was written is told as far as it is known", () => {
  expect(amount(3, 1234, 1)).toBe("3 rows, 1.23 KB in 1 file");
  expect(amount(1, null, null)).toBe("1 row");
  expect(amount(null, 999, 12)).toBe("999 bytes in 12 files");
  expect(amount(null, null, null)).toBe("");
});
