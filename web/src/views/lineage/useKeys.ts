// The keyboard of the graph.
import { useReactFlow } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { kindOf } from "../../graph/kinds";
import { linksOf } from "../../graph/walk";
import type { Picture } from "./draw";
import { frame, pace } from "./framing";
import { NEAR } from "./paint";
import { FARTHEST, following, NO_RECORDS, type View } from "./state";
import type { Scene } from "./useScene";

export const KEYS: [string, string][] = [
  ["← →", "select the next node upstream, downstream"],
  ["↑ ↓", "select the node above, below"],
  ["Enter", "show the graph around the selection"],
  ["U, D", "one more step upstream, downstream"],
  ["C", "open and close columns"],
  ["I", "isolate the path"],
  ["F", "fit the graph to the window"],
  ["T", "open the time slider"],
  ["R", "trace records of the selected topic"],
  ["Esc", "clear the selection, then the traced records"],
  ["⌘K, Ctrl K, /", "search"],
  ["?", "show these keys"],
];

export function useKeys(
  view: View,
  scene: Scene,
  picture: Picture,
  setHelps: (helps: boolean) => void,
): void {
  const flow = useReactFlow();
  const press = useRef<(event: KeyboardEvent) => void>(() => {});
  press.current = (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const { state, change } = view;
    const { selected } = state;
    const deeper = (way: "up" | "down") => {
      const anchors = state.anchors.length > 0 ? state.anchors : selected ? [selected] : [];
      if (anchors.length > 0) change({ anchors, [way]: Math.min(FARTHEST, state[way] + 1) });
    };
    const walk = (key: string) => {
      const next = neighbour(scene, picture, selected, key);
      if (!next) return;
      change({ selected: next }, "replace");
      const drawn = picture.get(next);
      if (drawn) centre(flow, drawn.place, drawn.size);
    };
    const deeds: Record<string, () => void> = {
      ArrowLeft: () => walk("left"),
      ArrowRight: () => walk("right"),
      ArrowUp: () => walk("up"),
      ArrowDown: () => walk("down"),
      Enter: () => selected && change({ anchors: [selected] }),
      u: () => deeper("up"),
      d: () => deeper("down"),
      f: () => frame(flow, picture),
      i: () => (selected || state.column) && change({ isolate: !state.isolate }),
      c: () => selected && toggle(view, selected),
      t: () => change({ time: !state.time, at: null, since: null }, "replace"),
      "?": () => setHelps(true),
      r: () => isTopic(scene, selected) && change(following(selected)),
      Escape: () => {
        const isSelected = selected !== null || state.column !== null;
        const rest = isSelected ? {} : NO_RECORDS;
        change({ selected: null, column: null, isolate: false, ...rest });
      },
    };
    const deed = deeds[event.key] ?? deeds[event.key.toLowerCase()];
    // Enter and the arrows belong to a button that has the focus outside the graph.
    if (!deed || (event.key === "Enter" && event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    deed();
  };
  useEffect(() => {
    const told = (event: KeyboardEvent) => press.current(event);
    window.addEventListener("keydown", told);
    return () => window.removeEventListener("keydown", told);
  }, []);
}

function isTopic(scene: Scene, id: string | null): id is string {
  const node = id ? scene.graph.nodes.get(id) : undefined;
  return node?.kind === "dataset" && kindOf(node.data.namespace, node.data.name) === "topic";
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

function toggle({ state, change }: View, id: string): void {
  const open = state.open.includes(id)
    ? state.open.filter((one) => one !== id)
    : [...state.open, id];
  change({ open }, "replace");
}

type Flow = ReturnType<typeof useReactFlow>;

function centre(
  flow: Flow,
  place: { x: number; y: number },
  size: { width: number; height: number },
): void {
  const zoom = Math.max(flow.getZoom(), NEAR);
  void flow.setCenter(place.x + size.width / 2, place.y + size.height / 2, {
    zoom,
    duration: pace(),
  });
}

/** The node that a key leads to: along an edge sideways, up and down to the nearest. */
export function neighbour(
  scene: Scene,
  picture: Picture,
  from: string | null,
  key: string,
): string | null {
  const here = from ? picture.get(from) : undefined;
  if (!from || !here) return leftmost(picture);
  const links = linksOf(scene.graph.edges);
  const sideways = key === "left" ? links.up.get(from) : links.down.get(from);
  const candidates =
    key === "left" || key === "right"
      ? (sideways ?? [])
      : [...picture.keys()].filter((id) => {
          const place = picture.get(id)?.place;
          if (!place || place.x !== here.place.x || id === from) return false;
          return key === "up" ? place.y < here.place.y : place.y > here.place.y;
        });
  const distance = (id: string) => Math.abs((picture.get(id)?.place.y ?? 0) - here.place.y);
  return candidates.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

function leftmost(picture: Picture): string | null {
  const order = [...picture.values()].sort(
    (a, b) => a.place.x - b.place.x || a.place.y - b.place.y,
  );
  return order[0]?.node.id ?? null;
}
