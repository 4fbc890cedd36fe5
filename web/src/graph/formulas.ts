// How the columns of a dataset are computed by one job.
import type { ColumnInput, ColumnLineage, Name } from "../api/types";
import { deedOf } from "./columns";

export interface Computed {
  column: string;
  /** The expression, where it is reported. */
  formula: string | null;
  /** Input columns as `dataset.column`. */
  from: string[];
}

export interface Formulas {
  computed: Computed[];
  /** Columns that are copied as they are, under their own names. */
  copied: string[];
  /** What decides on the rows: groups, filters, joins, each with its columns. */
  indirect: { word: string; columns: string[] }[];
}

const isOf = (input: ColumnInput, job: Name): boolean =>
  !input.job || (input.job.namespace === job.namespace && input.job.name === job.name);

/** Reads the formulas of one dataset out of an answer of /column-lineage. */
export function formulasOf(answer: ColumnLineage, dataset: Name, job: Name): Formulas {
  const found: Formulas = { computed: [], copied: [], indirect: [] };
  const words = new Map<string, Set<string>>();
  for (const { data } of answer.graph) {
    if (data.namespace !== dataset.namespace || data.dataset !== dataset.name) continue;
    const inputs = data.inputFields.filter((input) => isOf(input, job));
    for (const input of inputs) {
      for (const { type, subtype } of input.transformations ?? []) {
        if (type !== "INDIRECT") continue;
        const word = (subtype ?? "indirect").toLowerCase().replaceAll("_", " ");
        words.set(word, (words.get(word) ?? new Set()).add(input.field));
      }
    }
    const direct = inputs.filter((one) => deedOf(one.transformations ?? []).deed !== "indirect");
    if (direct.length > 0) add(found, data.field, direct);
  }
  found.indirect = [...words].map(([word, columns]) => ({ word, columns: [...columns].sort() }));
  return found;
}

function add({ copied, computed }: Formulas, column: string, direct: readonly ColumnInput[]): void {
  const [first] = direct;
  const deed = deedOf(first?.transformations ?? [], first?.transformationType).deed;
  if (direct.length === 1 && first?.field === column && deed === "identity") {
    copied.push(column);
    return;
  }
  const told = direct
    .flatMap((one) => one.transformations ?? [])
    .filter((step) => step.type !== "INDIRECT" && step.description)
    .map((step) => step.description);
  const from = direct.map((one) => `${shortOf(one.dataset)}.${one.field}`);
  computed.push({ column, formula: [...new Set(told)].join("; ") || null, from });
}

const shortOf = (name: string) => name.slice(name.lastIndexOf("/") + 1);
