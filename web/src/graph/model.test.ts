import { expect, test } from "vitest";
import type { Lineage } from "../api/types";
import { readGraph } from "./model";

function jobs(...told: [parent: string | null, name: string][]): Lineage {
  const graph = told.map(([parentJobName, simpleName]) => {
    const id = { namespace: "n", name: `${parentJobName}.${simpleName}` };
    const shared = { id, ...id, description: null, updatedAt: "", location: null };
    const data = { ...shared, simpleName, parentJobName, latestRun: null, type: "BATCH" as const };
    return { id: `job:n:${id.name}`, type: "JOB" as const, data, inEdges: [], outEdges: [] };
  });
  return { graph };
}

test("jobs whose names repeat are shown with the name of their parent", () => {
  const found = readGraph(jobs(["a", "query.10"], ["b", "query.10"], ["b", "load"], [null, "x"]));
  const names = [...found.nodes.values()].map(
    (node) => node.kind === "job" && node.data.simpleName,
  );
  expect(names).toEqual(["a.query.10", "b.query.10", "load", "x"]);
});
