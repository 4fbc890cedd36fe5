import { expect, test } from "vitest";
import { failureReason } from "./reason";

const WORKER = `
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "app.py", line 7, in bad
    raise ValueError("no price")
ValueError: no price
`;

test("why a run failed is the exception of the user's own code", () => {
  expect(failureReason("price is null\n  at check.py:7")).toBe("price is null");
  expect(failureReason(`PythonException: ${WORKER}`)).toBe("ValueError: no price");
  expect(failureReason("PythonException: ", WORKER)).toBe("ValueError: no price");
  expect(failureReason(`[STREAM_FAILED] Query failed: ${WORKER}\n\tat org.apache`)).toBe(
    "ValueError: no price",
  );
  expect(failureReason("AnalysisException: no such table", WORKER)).toBe(
    "AnalysisException: no such table",
  );
  expect(failureReason("")).toBe("");
});
