import { expect, test } from "vitest";
import { logLinks } from "./logs";

test("addresses of logs are found in facets, and only those that a page may open", () => {
  const facets = {
    airflow: { taskInstance: { log_url: "https://air.example/log?x=1", try_number: 1 } },
    other: { logUrl: "javascript:alert(1)", url: "https://no.example/" },
  };
  expect(logLinks(facets)).toEqual(["https://air.example/log?x=1"]);
  expect(logLinks({})).toEqual([]);
});
