import { expect, test } from "vitest";
import type { Reached, ReachedJob } from "../api/types";
import { graphOf } from "./making";
import { batches, trailOf, withTrail } from "./trail";

const run = { runId: "r", state: "RUNNING", since: "", exact: true, reason: null, readBy: null };

function jobOf(name: string, more: Partial<ReachedJob> = {}): ReachedJob {
  const own = { nodeId: `job.${name}`, namespace: "a", name };
  const runs = [{ ...run, firstBatch: null, lastBatch: null }];
  return { ...own, step: 1, exact: true, runCount: 1, runs, inputs: [], outputs: [], ...more };
}

const dataset = (name: string, snapshotCount = 0) => ({
  nodeId: name,
  namespace: "space",
  name,
  snapshotCount,
});

const reached: Reached = {
  complete: true,
  partition: 0,
  readUpTo: null,
  jobs: [
    jobOf("sink", { inputs: [dataset("orders")], outputs: [dataset("table", 3)] }),
    jobOf("merge", { exact: false, inputs: [dataset("orders")], outputs: [dataset("table", 1)] }),
    jobOf("daily", {
      step: 2,
      runCount: 24,
      inputs: [dataset("table")],
      outputs: [dataset("mart"), dataset("orders")],
    }),
  ],
};

test("a trail tells how much of each node the records reached", () => {
  const trail = trailOf(reached, "orders", "partition 0 · 5");
  expect([...trail.stops].map(([id, { text, isExact }]) => [id, text, isExact])).toEqual([
    ["orders", "partition 0 · 5", true],
    ["job.sink", "step 1 · 1 run", true],
    ["job.merge", "step 1 · 1 run", false],
    ["job.daily", "step 2 · 24 runs", true],
    ["table", "up to 4 snapshots", false],
    ["mart", "holds them", true],
  ]);
  expect(trail.edges.slice(0, 2)).toEqual([
    { from: "orders", to: "job.sink" },
    { from: "job.sink", to: "table" },
  ]);
});

test("a trail adds what the graph does not show, and keeps what it does", () => {
  const graph = graphOf("orders > job.sink > table", "orders > job.other");
  const found = withTrail(graph, trailOf(reached, "orders", ""));
  const added = ["job.daily", "job.merge", "mart"];
  expect([...found.nodes.keys()].sort()).toEqual([...graph.nodes.keys(), ...added].sort());
  expect(found.nodes.get("table")).toBe(graph.nodes.get("table"));
  expect(found.edges).toHaveLength(3 + 5);
});

test("batches are told of one run", () => {
  const told = (runCount: number, firstBatch: number | null, lastBatch: number | null) =>
    batches(jobOf("a", { runCount, runs: [{ ...run, firstBatch, lastBatch }] }));
  expect(told(1, 3, 3)).toBe("batch 3");
  expect(told(1, 3, 5)).toBe("batches 3 to 5");
  expect(told(1, null, null)).toBe("1 run");
  expect(told(4, 3, 5)).toBe("4 runs");
});
