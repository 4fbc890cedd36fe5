import { expect, test } from "vitest";
import { compare } from "./diff";
import { field, graphOf, nodeOf } from "./making";
import { edgeKey, merge, readGraph, shapeOf } from "./model";

test("nodes and edges that came and went are marked", () => {
  const marks = compare(graphOf("a > job.1 > b"), graphOf("a > job.1 > c"));
  expect(marks.nodes).toEqual(
    new Map([
      ["c", "added"],
      ["b", "removed"],
    ]),
  );
  expect(marks.edges.get(edgeKey("job.1", "c"))).toBe("added");
  expect(marks.edges.get(edgeKey("job.1", "b"))).toBe("removed");
  expect(marks.edges.has(edgeKey("a", "job.1"))).toBe(false);
});

test("schema changes mark their dataset", () => {
  const [before, after] = [graphOf("a"), graphOf("a")];
  before.nodes.set("a", nodeOf("a", [field("price", "double"), field("item", "string")]));
  after.nodes.set("a", nodeOf("a", [field("price", "decimal"), field("currency", "string")]));
  const marks = compare(before, after);
  expect(marks.nodes.get("a")).toBe("changed");
  expect(marks.fields.get("a")?.map(({ name, mark }) => [name, mark])).toEqual([
    ["price", "changed"],
    ["currency", "added"],
    ["item", "removed"],
  ]);
});

test("two graphs in one have everything once", () => {
  const both = merge(graphOf("a > job.1 > b"), graphOf("a > job.1 > c"));
  expect([...both.nodes.keys()].sort()).toEqual(["a", "b", "c", "job.1"]);
  expect(both.edges).toHaveLength(3);
});

test("the shape tells columns and edges apart, not their order", () => {
  expect(shapeOf(graphOf("a > job.1 > b"))).toBe(shapeOf(graphOf("job.1 > b", "a > job.1")));
  expect(shapeOf(graphOf("a > job.1"))).not.toBe(shapeOf(graphOf("job.1 > a")));
});

test("edges to nodes that are not there are left out", () => {
  const data = nodeOf("a").data;
  const edge = { origin: "a", destination: "gone" };
  const node = { id: "a", type: "DATASET", data, inEdges: [], outEdges: [edge] } as never;
  expect(readGraph({ graph: [node] }).edges).toEqual([]);
});
