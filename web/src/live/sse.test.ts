import { expect, test } from "vitest";
import { EventReader } from "./sse";

test("events are given out when they are whole, however the text is cut", () => {
  const text =
    'retry: 1000\n\nid: 7\nevent: run\ndata: {"a":1}\n\n: still here\n\nid: 8\ndata: x\n\n';
  const reader = new EventReader();
  const found = [...text].flatMap((letter) => reader.take(letter));
  expect(found).toEqual([
    { id: "7", event: "run", data: '{"a":1}' },
    { id: "8", event: "message", data: "x" },
  ]);
});

test("lines of data are joined", () => {
  expect(new EventReader().take("data: a\r\ndata: b\r\n\r\n")).toEqual([
    { id: null, event: "message", data: "a\nb" },
  ]);
});
