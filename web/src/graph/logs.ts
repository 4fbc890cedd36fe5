// Where the log of a run can be read, as its facets tell it.
import { safeLink } from "./markdown";
import { record } from "./state";

const NAMES = /^(?:log|logs|task_log)_?(?:url|uri|link)$/i;
const DEPTH = 3; // levels of a facet, such as `airflow.taskInstance.log_url`

/** Addresses under a name such as `log_url`, each once. */
export function logLinks(facets: Record<string, unknown>): string[] {
  const found = new Set<string>();
  const look = (value: unknown, depth: number) => {
    for (const [name, inner] of Object.entries(record(value))) {
      const link = typeof inner === "string" && NAMES.test(name) ? safeLink(inner) : null;
      if (link) found.add(link);
      else if (depth > 0) look(inner, depth - 1);
    }
  };
  look(facets, DEPTH);
  return [...found];
}
