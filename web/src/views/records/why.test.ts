import { expect, test } from "vitest";
import { rangesOf, type Write, whyLink } from "./why";

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
  expect(rangesOf(write, topic)).toEqual([
    {
      partition: "0",
      text: "5–7",
      link: "/records?node=dataset%3Akafka%3A%2F%2Fb%3A1%3Aorders&partition=0&offsets=5-7",
    },
    { partition: "2", text: "from 0", link: null },
  ]);
  expect(rangesOf(write, table)).toEqual([]);
});

test("a link names a snapshot", () => {
  expect(whyLink(table.nodeId, "7")).toBe("/why?node=dataset%3As3%3A%2F%2Fw%3At&snapshot=7");
});
