// Turns a scene into what is drawn: each node with its place, its columns and how it stands out.
import { fieldId } from "../../api/names";
import type { Mark } from "../../graph/diff";
import type { GraphNode } from "../../graph/model";
import { makeRoom } from "../../graph/room";
import { type Point, type Shown, type Size, sizeOf } from "../../graph/sizes";
import type { Stop } from "../../graph/trail";
import type { Hidden } from "../../graph/walk";
import type { ViewState } from "./state";
import type { Scene } from "./useScene";

export interface Drawn {
  node: GraphNode;
  place: Point;
  size: Size;
  shown: Shown;
  isOpen: boolean;
  isFaded: boolean;
  isSelected: boolean;
  isAnchor: boolean;
  mark: Mark | null;
  fieldMarks: ReadonlyMap<string, Mark>;
  hidden: Hidden | null;
  /** How much of it the records reached that are followed. */
  stop: Stop | null;
  /** Whether its columns are read only once it opens. */
  isBrief: boolean;
  litFields: ReadonlySet<string>;
  /** The lit column itself, where it is of this dataset. */
  chosen: string | null;
}

export type Picture = Map<string, Drawn>;

const NONE: Shown = { rows: [], more: 0 };
const NO_FIELDS: ReadonlySet<string> = new Set();

export function draw(scene: Scene, state: ViewState): Picture {
  const { graph, places, path } = scene;
  const litFields = litByDataset(scene);
  const shown = new Map<string, Shown>();
  const sizes = new Map<string, Size>();
  for (const [id, node] of graph.nodes) {
    const rows = rowsOf(node, state.open.includes(id), litFields.get(id), scene);
    shown.set(id, rows);
    sizes.set(id, sizeOf(node, rows));
  }
  const roomy = makeRoom(places, sizes);
  const picture: Picture = new Map();
  for (const [id, node] of graph.nodes) {
    const place = roomy.get(id);
    const size = sizes.get(id);
    if (!place || !size) continue;
    const fields = litFields.get(id) ?? NO_FIELDS;
    picture.set(id, {
      node,
      place,
      size,
      shown: shown.get(id) ?? NONE,
      isOpen: state.open.includes(id),
      isFaded: path !== null && !path.has(id),
      isSelected: state.selected === id,
      isAnchor: state.anchors.includes(id),
      mark: scene.marks?.nodes.get(id) ?? null,
      fieldMarks: new Map(scene.marks?.fields.get(id)?.map(({ name, mark }) => [name, mark])),
      hidden: scene.hidden.get(id) ?? null,
      stop: scene.trail?.stops.get(id) ?? null,
      isBrief: scene.isBrief,
      litFields: fields,
      chosen: [...fields].find((field) => isField(node, field, state.column)) ?? null,
    });
  }
  return picture;
}

function isField(node: GraphNode, field: string, column: string | null): boolean {
  return node.kind === "dataset" && column === fieldId(node.data, field);
}

function litByDataset({ lit, columns }: Scene): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const id of lit?.columns.keys() ?? []) {
    const column = columns?.columns.get(id);
    if (!column) continue;
    const fields = found.get(column.dataset) ?? new Set<string>();
    found.set(column.dataset, fields.add(column.field));
  }
  return found;
}

function rowsOf(
  node: GraphNode,
  isOpen: boolean,
  lit: ReadonlySet<string> | undefined,
  scene: Scene,
): Shown {
  if (node.kind !== "dataset") return NONE;
  const names = node.data.fields.map((field) => field.name);
  for (const name of lit ?? []) if (!names.includes(name)) names.push(name);
  const changes = scene.marks?.fields.get(node.id) ?? [];
  for (const { name } of changes) if (!names.includes(name)) names.push(name);
  if (isOpen) return { rows: names, more: 0 };
  const changed = new Set(changes.map((change) => change.name));
  const rows = names.filter((name) => lit?.has(name) || changed.has(name));
  if (rows.length === 0) return NONE;
  return { rows, more: names.length - rows.length };
}
