import { expect, test } from "vitest";
import { readInline, readMarkdown, safeLink } from "./markdown";

test("paragraphs, headings, lists and code are told apart", () => {
  const text = "# Orders\nOne row\nan order.\n\n- first\n- second\n1. one\n```\n<b>x</b>\n```\nend";
  expect(readMarkdown(text).map((block) => block.kind)).toEqual([
    "heading",
    "paragraph",
    "list",
    "list",
    "code",
    "paragraph",
  ]);
});

test("text is marked up by its signs, and HTML stays text", () => {
  expect(readInline("**b** *i* `c` <script>x</script>")).toEqual([
    { kind: "strong", text: "b" },
    { kind: "text", text: " " },
    { kind: "em", text: "i" },
    { kind: "text", text: " " },
    { kind: "code", text: "c" },
    { kind: "text", text: " <script>x</script>" },
  ]);
  expect(readInline("snake_case_name 2 * 3 * 4")).toEqual([
    { kind: "text", text: "snake_case_name 2 * 3 * 4" },
  ]);
});

test("only links of the web and of mail are links", () => {
  expect(readInline("[wiki](https://w.example/x) https://a.example/b.")).toEqual([
    { kind: "link", text: "wiki", href: "https://w.example/x" },
    { kind: "text", text: " " },
    { kind: "link", text: "https://a.example/b", href: "https://a.example/b" },
    { kind: "text", text: "." },
  ]);
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "/relative", "vbscript:x"]) {
    expect(safeLink(bad)).toBeNull();
    expect(readInline(`[x](${bad})`).every((part) => part.kind === "text")).toBe(true);
  }
});
