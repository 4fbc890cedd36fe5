import { expect, test } from "vitest";
import { rangesOf, stepsOf, type VersionRead, type Write, whyLink } from "./why";

const topic = { nodeId: "dataset:kafka://b:1:orders", namespace: "kafka://b:1", name: "orders" };
const table = { nodeId: "dataset:s3://w:t", namespace: "s3://w", name: "t", snapshot: "7" };
const write: Write = {
  nodeId: "job:a:b",
  namespace: "a",
  name: "b",
  output: table,
  offsets: {
    orders: { 0: { from: 5, to: 8 }, 1: { from: 3, to: 3 }, 2: { from: null, to: null } },
  },
  inputs: [topic],
};

test("offsets are told with the last one, and link to what they reached", () => {
  const orders = "dataset%3Akafka%3A%2F%2Fb%3A1%3Aorders";
  expect(rangesOf(write, topic)).toEqual([
    {
      partition: "0",
      text: "5–7",
      first: 5,
      count: 3,
      link: `/lineage?node=${orders}&records=${orders}&partition=0&offsets=5-7`,
    },
    { partition: "2", text: "from 0", first: 0, count: null, link: null },
  ]);
  expect(rangesOf(write, table)).toEqual([]);
});

test("a link names a snapshot, or only the table", () => {
  expect(whyLink(table.nodeId, "7")).toBe("/why?node=dataset%3As3%3A%2F%2Fw%3At&snapshot=7");
  expect(whyLink(table.nodeId)).toBe("/why?node=dataset%3As3%3A%2F%2Fw%3At");
});

const place = (name: string, snapshot: string | null = null): VersionRead => ({
  nodeId: name,
  namespace: "n",
  name,
  snapshot,
});
const by = (name: string, inputs: VersionRead[], output: string, more: Partial<Write> = {}) => ({
  nodeId: `job:${name}`,
  namespace: "n",
  name,
  output: place(output),
  inputs,
  ...more,
});

test("each step comes after those that wrote what it read", () => {
  // mart is made of a and b, and b of a as well.
  const steps = stepsOf([
    by("mart", [place("a"), place("b")], "mart"),
    by("load", [topic], "a"),
    by("copy", [place("a")], "b"),
  ]);
  expect(steps.map((step) => step.write.name)).toEqual(["load", "copy", "mart"]);
});

test("a circle ends, and the snapshot's own step is the last", () => {
  const steps = stepsOf([
    by("merge", [place("t")], "t", { exact: true }),
    by("merge", [place("t"), topic], "t", { exact: false, reason: "before" }),
  ]);
  expect(steps.map((step) => step.isExact)).toEqual([false, true]);
});

test("runs of one job are one step with all that they read", () => {
  const offsets = (from: number | null, to: number) => ({ orders: { 0: { from, to } } });
  const [step, last] = stepsOf([
    by("daily", [place("t", "9")], "mart", { at: "3" }),
    by("sink", [place("x", "1"), topic], "t", { at: "2", offsets: offsets(5, 9) }),
    by("sink", [place("x", "2"), topic], "t", { at: "1", offsets: offsets(null, 5) }),
  ]);
  expect(step?.runs).toHaveLength(2);
  expect(step?.write.at).toBe("2");
  expect(step?.offsets).toEqual(offsets(null, 9));
  expect(step?.inputs.map((one) => one.snapshot)).toEqual([null, undefined]);
  expect(last?.inputs[0]?.snapshot).toBe("9");
});
