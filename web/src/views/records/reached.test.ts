import { expect, test } from "vitest";
import { quoted } from "./command";
import { parseOffsets, reachedLink, readUpTo, recordsLink } from "./reached";

test.each([
  ["7", 7, 7],
  ["1000-2000", 1000, 2000],
  [" 1000 – 2000 ", 1000, 2000],
  ["5-5", 5, 5],
])("%s is a range of offsets", (text, firstOffset, lastOffset) => {
  expect(parseOffsets(text)).toEqual({ firstOffset, lastOffset });
});

test.each(["", "x", "-1", "5-4", "1-", "1-2-3", "1e3", "9".repeat(30)])("%j is none", (text) => {
  expect(parseOffsets(text)).toBeNull();
});

test.each([
  [null, "No run has reported what it read of this topic."],
  [0, "No job has read a record of partition 3."],
  [500, "The job that is furthest has read partition 3 up to offset 499."],
])("how far runs have read is told for %s", (end, told) => {
  expect(readUpTo({ partition: 3, readUpTo: end })).toBe(told);
});

test("links name a topic and records", () => {
  const node = "dataset:kafka://b:1:orders";
  const orders = "dataset%3Akafka%3A%2F%2Fb%3A1%3Aorders";
  expect(recordsLink(node, { partition: 2, offsets: "9" })).toBe(
    `/records?node=${orders}&partition=2&offsets=9`,
  );
  expect(reachedLink(node)).toBe(`/lineage?node=${orders}&records=${orders}`);
  expect(reachedLink(node, { partition: 0, offsets: "5-7" })).toBe(
    `/lineage?node=${orders}&records=${orders}&partition=0&offsets=5-7`,
  );
});

test.each([
  ["default.orders", "default.orders"],
  ["price > 0", '"price > 0"'],
  ["order_id = 'a1'", `"order_id = 'a1'"`],
  ["name = '$HOME'", `'name = '\\''$HOME'\\'''`],
])("%s is quoted for a shell", (text, shell) => {
  expect(quoted(text)).toBe(shell);
});
