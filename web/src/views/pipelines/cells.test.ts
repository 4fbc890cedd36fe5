import { expect, test } from "vitest";
import { cell, columnsOf, fieldOf } from "./cells";

const part = (value: unknown, isCut = false) => ({
  value: { format: "json", value, schemaId: null, size: 1, isCut, note: null },
});

test("messages that are records have the columns of all of them, in their order", () => {
  const messages = [part({ a: 1, b: 2 }), part("text"), part({ c: 3, a: 4 }), part({ d: 1 }, true)];
  expect(columnsOf([...messages, { value: null }])).toEqual(["a", "b", "c"]);
});

test("a cell tells nothing from null, and a field that is not there from both", () => {
  expect(cell(fieldOf({ a: null }, "a"))).toBe("null");
  expect(cell(fieldOf({}, "a"))).toBe("");
  expect(cell({ city: "Lund" })).toBe('{"city":"Lund"}');
});
