import { expect, test } from "vitest";
import type { Run } from "../api/types";
import { collapse, groupIn, groupsOf } from "./collapse";
import { graphOf } from "./making";
import type { Graph, JobNode } from "./model";

const NONE = new Set<string>();

function spread(graph: Graph, spaces: Record<string, string>): Graph {
  for (const [id, namespace] of Object.entries(spaces)) {
    const node = graph.nodes.get(id);
    if (node) node.data.namespace = namespace;
  }
  return graph;
}

const pipeline = () =>
  spread(graphOf("a > job.1 > b > job.2 > c", "a > job.3 > c"), {
    a: "kafka",
    c: "lake",
    b: "lake",
  });

test("a group is drawn as one node with the edges of its members", () => {
  const drawn = collapse(pipeline(), ["dataset:lake"], NONE);
  expect([...drawn.nodes.keys()].sort()).toEqual(
    ["a", "job.1", "job.2", "job.3", "namespace:dataset:lake"].sort(),
  );
  expect(drawn.nodes.get("namespace:dataset:lake")?.data.name).toBe("2 datasets");
  expect(drawn.edges).toContainEqual({ from: "job.1", to: "namespace:dataset:lake" });
  expect(drawn.edges).toContainEqual({ from: "namespace:dataset:lake", to: "job.2" });
});

test("edges inside a group are not drawn, and each edge is drawn once", () => {
  const drawn = collapse(pipeline(), ["dataset:lake", "dataset:kafka", "job:space"], NONE);
  expect(drawn.edges.map(({ from, to }) => `${from}>${to}`).sort()).toEqual([
    "namespace:dataset:kafka>namespace:job:space",
    "namespace:dataset:lake>namespace:job:space",
    "namespace:job:space>namespace:dataset:lake",
  ]);
});

test("what is kept stays itself", () => {
  const drawn = collapse(pipeline(), ["dataset:lake"], new Set(["c"]));
  expect(drawn.nodes.has("c")).toBe(true);
  expect(drawn.nodes.get("namespace:dataset:lake")?.data.name).toBe("1 dataset");
});

test("jobs together are in the gravest of their states", () => {
  const graph = pipeline();
  const run = (state: string) => ({ id: state, state, facets: {} }) as unknown as Run;
  for (const [number, state] of ["RUNNING", "FAILED", "COMPLETED"].entries()) {
    (graph.nodes.get(`job.${number + 1}`) as JobNode).data.latestRun = run(state);
  }
  const drawn = collapse(graph, ["job:space"], NONE);
  expect((drawn.nodes.get("namespace:job:space") as JobNode).data.latestRun?.state).toBe("FAILED");
});

test("groups are those with more than one member, and are known by their nodes", () => {
  expect([...groupsOf(pipeline())]).toEqual([
    ["dataset:lake", 2],
    ["job:space", 3],
  ]);
  expect(groupIn("namespace:dataset:lake")).toBe("dataset:lake");
  expect(groupIn("dataset:lake:x")).toBeNull();
});
