import { expect, test } from "vitest";
import { deedOf, formulaOf, light, readColumns, withPath } from "./columns";
import { columnsOf, graphOf, step } from "./making";

const IDENTITY = step("DIRECT", "IDENTITY");
const SUM = step("DIRECT", "AGGREGATION");
const GROUP = step("INDIRECT", "GROUP_BY");
const COLUMNS = readColumns(
  columnsOf({
    "orders.price": [],
    "orders.supplier": [],
    "stats.total": [
      ["orders.price", SUM],
      ["orders.supplier", GROUP],
    ],
    "stats.supplier": [["orders.supplier", IDENTITY]],
    "report.total": [["stats.total", IDENTITY]],
  }),
);
const id = (name: string) => `datasetField:space:${name.replace(".", ":")}`;

test("a column's path goes up and down, with distances", () => {
  const lit = light(COLUMNS, id("stats.total"), false);
  expect([...lit.columns]).toEqual([
    [id("stats.total"), 0],
    [id("orders.price"), -1],
    [id("report.total"), 1],
  ]);
});

test("indirect influences are on the path only when asked for", () => {
  expect(light(COLUMNS, id("stats.total"), false).columns.has(id("orders.supplier"))).toBe(false);
  expect(light(COLUMNS, id("stats.total"), true).columns.has(id("orders.supplier"))).toBe(true);
});

test("datasets and jobs of a path stay lit", () => {
  const { nodes } = light(COLUMNS, id("report.total"), false);
  expect(nodes).toEqual(
    new Set([
      "dataset:space:report",
      "dataset:space:stats",
      "dataset:space:orders",
      "job:space:report-writer",
      "job:space:stats-writer",
    ]),
  );
});

test("what lies beyond the graph is added to it", () => {
  const lit = light(COLUMNS, id("report.total"), false);
  const graph = withPath(graphOf("x"), COLUMNS, lit);
  expect(graph.nodes.has("dataset:space:orders")).toBe(true);
  expect(graph.edges).toContainEqual({
    from: "dataset:space:orders",
    to: "job:space:stats-writer",
  });
});

test("the strongest step names what happened", () => {
  expect(deedOf([IDENTITY, SUM])).toEqual({ deed: "aggregation", sign: "Σ", word: "aggregation" });
  expect(deedOf([step("DIRECT", "TRANSFORMATION", true)]).deed).toBe("masked");
  expect(deedOf([GROUP])).toEqual({ deed: "indirect", sign: "G", word: "group by" });
  expect(deedOf([GROUP, IDENTITY]).deed).toBe("identity");
  expect(deedOf([], "TRANSFORMATION").sign).toBe("ƒ");
  expect(deedOf([], "IDENTITY").deed).toBe("identity");
});

test("nothing is said of a transformation that its producer does not report", () => {
  const unreported = { deed: "unreported", sign: "", word: "not reported" };
  expect(deedOf([])).toEqual(unreported);
  expect(deedOf([step("DIRECT", "")])).toEqual(unreported);
});

test("an edge has the expression that made it, over the names of its origins", () => {
  const told = { ...SUM, description: "sum(price)" };
  const kept = { ...GROUP, description: "supplier" };
  const graph = readColumns(
    columnsOf({
      "orders.price": [],
      "orders.supplier": [],
      "stats.total": [
        ["orders.price", told],
        ["orders.supplier", kept],
      ],
      "stats.plain": [["orders.price", IDENTITY]],
    }),
  );
  const formulas = graph.edges.map((edge) => formulaOf(edge, edge.to.split(":")[3] ?? ""));
  expect(formulas).toEqual(["total = sum(price)", "supplier", ""]);
});
