import { expect, test } from "vitest";
import { formulasOf } from "./formulas";
import { columnsOf, step } from "./making";

const said = (subtype: string, description: string) => ({
  ...step("DIRECT", subtype),
  description,
});

test("columns are copied or computed, and rows are grouped and filtered by others", () => {
  const answer = columnsOf({
    "stats.supplier": [
      ["orders.supplier", step("DIRECT", "IDENTITY")],
      ["orders.day", step("INDIRECT", "GROUP_BY")],
    ],
    "stats.total": [
      ["orders.price", said("AGGREGATION", "sum(price)")],
      ["orders.day", step("INDIRECT", "FILTER")],
    ],
    "stats.shop": [["orders.seller", step("DIRECT", "IDENTITY")]],
    "other.total": [["orders.price", step("DIRECT", "IDENTITY")]],
  });
  const job = { namespace: "space", name: "stats-writer" };
  expect(formulasOf(answer, { namespace: "space", name: "stats" }, job)).toEqual({
    copied: ["supplier"],
    computed: [
      { column: "total", formula: "sum(price)", from: ["orders.price"] },
      { column: "shop", formula: null, from: ["orders.seller"] },
    ],
    indirect: [
      { word: "group by", columns: ["day"] },
      { word: "filter", columns: ["day"] },
    ],
  });
  const other = formulasOf(answer, { namespace: "space", name: "stats" }, { ...job, name: "x" });
  expect(other).toEqual({ copied: [], computed: [], indirect: [] });
});
