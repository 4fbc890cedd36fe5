// What changed between two moments.
import { edgeKey, type Graph } from "./model";

export type Mark = "added" | "removed" | "changed";

export const MARK_SIGN: Record<Mark, string> = { added: "+", removed: "−", changed: "Δ" };

/** A field, as far as it is compared. */
export interface Typed {
  name: string;
  type: string | null;
}

export interface FieldChange {
  name: string;
  mark: Mark;
  before: string | null;
  after: string | null;
}

export interface Marks {
  nodes: Map<string, Mark>;
  edges: Map<string, Mark>;
  fields: Map<string, FieldChange[]>;
}

/** Marks on the two graphs taken together. */
export function compare(before: Graph, after: Graph): Marks {
  const marks: Marks = { nodes: new Map(), edges: new Map(), fields: new Map() };
  for (const id of after.nodes.keys()) if (!before.nodes.has(id)) marks.nodes.set(id, "added");
  for (const id of before.nodes.keys()) if (!after.nodes.has(id)) marks.nodes.set(id, "removed");
  const [old, fresh] = [before, after].map(
    (graph) => new Set(graph.edges.map((edge) => edgeKey(edge.from, edge.to))),
  );
  for (const key of fresh ?? []) if (!old?.has(key)) marks.edges.set(key, "added");
  for (const key of old ?? []) if (!fresh?.has(key)) marks.edges.set(key, "removed");
  for (const [id, node] of after.nodes) {
    const was = before.nodes.get(id);
    if (node.kind !== "dataset" || was?.kind !== "dataset") continue;
    const fields = compareFields(was.data.fields, node.data.fields);
    if (fields.length === 0) continue;
    marks.fields.set(id, fields);
    marks.nodes.set(id, "changed");
  }
  return marks;
}

export function compareFields(before: readonly Typed[], after: readonly Typed[]): FieldChange[] {
  const old = new Map(before.map((field) => [field.name, field]));
  const fresh = new Map(after.map((field) => [field.name, field]));
  const changes: FieldChange[] = [];
  for (const [name, field] of fresh) {
    const was = old.get(name);
    if (!was) changes.push({ name, mark: "added", before: null, after: field.type });
    else if (was.type !== field.type)
      changes.push({ name, mark: "changed", before: was.type, after: field.type });
  }
  for (const [name, field] of old) {
    if (!fresh.has(name)) changes.push({ name, mark: "removed", before: field.type, after: null });
  }
  return changes;
}

/** "2 added, 1 removed", in words. */
export function summary(marks: Marks): string {
  const counts: Record<Mark, number> = { added: 0, removed: 0, changed: 0 };
  for (const mark of [...marks.nodes.values(), ...marks.edges.values()]) counts[mark] += 1;
  const told = (Object.keys(counts) as Mark[])
    .filter((mark) => counts[mark] > 0)
    .map((mark) => `${MARK_SIGN[mark]} ${counts[mark]} ${mark}`);
  return told.join(", ") || "nothing changed";
}
