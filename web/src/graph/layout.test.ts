import { expect, test } from "vitest";
import { layered } from "./layered";
import { field, graphOf, nodeOf } from "./making";
import { makeRoom } from "./room";
import { headHeight, linesOf, rowMiddle, sizeOf } from "./sizes";

const SIZE = { width: 216, height: 56 };

test("layers follow the longest way, left to right", () => {
  const graph = graphOf("a > job.1 > b > job.2 > c", "a > job.2");
  const sizes = new Map([...graph.nodes.keys()].map((id) => [id, SIZE]));
  const places = layered(sizes, graph.edges);
  const x = ["a", "job.1", "b", "job.2", "c"].map((id) => places.get(id)?.x ?? -1);
  expect(x).toEqual([...x].sort((a, b) => a - b));
  expect(new Set(x).size).toBe(5);
});

test("a layer of very many stands in several columns, before the next layer", () => {
  const graph = graphOf(...Array.from({ length: 400 }, (_, n) => `a > job.${n} > b`));
  const sizes = new Map([...graph.nodes.keys()].map((id) => [id, SIZE]));
  const places = layered(sizes, graph.edges);
  const jobs = [...places].filter(([id]) => id.startsWith("job.")).map(([, place]) => place);
  const columns = new Set(jobs.map(({ x }) => x));
  expect(columns.size).toBeGreaterThan(3);
  expect(Math.max(...columns)).toBeLessThan(places.get("b")?.x ?? 0);
  expect(new Set(jobs.map(({ x, y }) => `${x} ${y}`)).size).toBe(400);
});

test("a cycle is laid out too, and nothing overlaps", () => {
  const graph = graphOf("a > job.1 > b > job.2 > a", "a > job.3 > c", "a > job.4 > d");
  const sizes = new Map([...graph.nodes.keys()].map((id) => [id, SIZE]));
  const places = [...layered(sizes, graph.edges).values()];
  expect(places).toHaveLength(graph.nodes.size);
  for (const one of places) {
    const near = places.filter((p) => p.x === one.x && Math.abs(p.y - one.y) < SIZE.height);
    expect(near).toEqual([one]);
  }
});

test("an open card moves only what stands beneath it", () => {
  const places = new Map([
    ["top", { x: 0, y: 0 }],
    ["below", { x: 0, y: 100 }],
    ["far", { x: 0, y: 900 }],
    ["beside", { x: 300, y: 100 }],
  ]);
  const sizes = new Map([...places.keys()].map((id) => [id, SIZE]));
  sizes.set("top", { width: 216, height: 400 });
  const roomy = makeRoom(places, sizes);
  expect(roomy.get("top")).toEqual({ x: 0, y: 0 });
  expect(roomy.get("below")).toEqual({ x: 0, y: 420 });
  expect(roomy.get("far")).toEqual({ x: 0, y: 900 });
  expect(roomy.get("beside")).toEqual({ x: 300, y: 100 });
});

test("rows stand within their card", () => {
  const node = nodeOf("orders", [field("a", "int"), field("b", "int")]);
  const { height } = sizeOf(node, { rows: ["a", "b"], more: 0 });
  expect(rowMiddle(node, 0)).toBeGreaterThan(headHeight(node));
  expect(rowMiddle(node, 1)).toBeLessThan(height);
});

test("long names take more lines, and break where they may", () => {
  expect(linesOf("orders")).toBe(1);
  expect(linesOf("warehouse/default/supplier_stats")).toBe(2);
  expect(linesOf("x".repeat(500))).toBe(3);
});
