// The one line that says why a run failed, as the command line shows it (openlineage/failures.py).

const TRACEBACK = "Traceback (most recent call last):";
const WRAPPER = /^(?:[\w.]+\.)?PythonException:\s*/;
const EXCEPTION = /^[A-Za-z_][\w.]*(?:: .*)?$/;

/** The exception that a user's Python code raised, else the first line of the message. */
export function failureReason(message: string, stack = ""): string {
  const inStack = WRAPPER.test(message.trim()) ? raised(stack) : "";
  return raised(message) || inStack || firstLine(message);
}

/** The last line of the last Python traceback in a text. */
function raised(text: string): string {
  const found = text.lastIndexOf(TRACEBACK);
  if (found < 0) return "";
  const lines = text
    .slice(found + TRACEBACK.length)
    .split("\n")
    .slice(1);
  const own = lines.find((line) => line.trim() !== "" && !/^\s/.test(line))?.trim() ?? "";
  return EXCEPTION.test(own) ? own : "";
}

function firstLine(message: string): string {
  const lines = message.trim().replace(WRAPPER, "").split("\n");
  return lines.find((line) => line.trim() !== "")?.trim() ?? "";
}
