import { expect, test } from "vitest";
import { graphOf } from "./making";
import { around, hiddenNeighbours, linksOf, reach } from "./walk";

const PIPELINE = graphOf("a > job.1 > b > job.2 > c > job.3 > d", "b > job.side > e");

test("reach goes one way only, and tells how far", () => {
  const links = linksOf(PIPELINE.edges);
  expect(reach(links, ["c"], "up")).toEqual(
    new Map([
      ["c", 0],
      ["job.2", 1],
      ["b", 2],
      ["job.1", 3],
      ["a", 4],
    ]),
  );
});

test("reach ends in a cycle", () => {
  const { edges } = graphOf("a > job.1 > b > job.2 > a");
  expect(reach(linksOf(edges), ["a"], "down").size).toBe(4);
});

test("depth counts jobs, each with the datasets beyond it", () => {
  expect(around(PIPELINE, ["c"], { up: 1, down: 0 })).toEqual(new Set(["c", "job.2", "b"]));
  expect(around(PIPELINE, ["job.2"], { up: 0, down: 1 })).toEqual(
    new Set(["job.2", "b", "c", "job.3", "d"]),
  );
});

test("what is shown around a node leaves out its siblings", () => {
  expect(around(PIPELINE, ["c"], { up: 9, down: 9 }).has("e")).toBe(false);
});

test("neighbours that are not shown are counted on each side", () => {
  const shown = around(PIPELINE, ["c"], { up: 1, down: 0 });
  const hidden = hiddenNeighbours(PIPELINE, shown);
  expect(hidden.get("b")).toEqual({ up: 1, down: 1 });
  expect(hidden.get("c")).toEqual({ up: 0, down: 1 });
  expect(hidden.has("job.2")).toBe(false);
});
