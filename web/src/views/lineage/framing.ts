// Brings nodes into view.
import { getViewportForBounds, type ReactFlowInstance, useReactFlow } from "@xyflow/react";
import { useEffect, useRef } from "react";
import type { Picture } from "./draw";
import { useView } from "./state";
import type { Scene } from "./useScene";

export const NEAREST = 2;
export const FARTHEST_OUT = 0.01;
const MOVE = 160; // milliseconds, so that the eye can follow
const PADDING = 0.1;
const NARROW = 700;
const LEGIBLE = 0.7;

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const pace = (): number => (isStill() ? 0 : MOVE);

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function boxOf(picture: Picture, ids: Iterable<string>): Box | null {
  let [left, top] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let [right, bottom] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const id of ids) {
    const drawn = picture.get(id);
    if (!drawn) continue;
    left = Math.min(left, drawn.place.x);
    top = Math.min(top, drawn.place.y);
    right = Math.max(right, drawn.place.x + drawn.size.width);
    bottom = Math.max(bottom, drawn.place.y + drawn.size.height);
  }
  return left > right ? null : { x: left, y: top, width: right - left, height: bottom - top };
}

/** On a phone the beginning in a size that can be read, rather than everything in one that cannot. */
function beginning(box: Box, height: number): { x: number; y: number; zoom: number } {
  const y = height / 2 - (box.y + box.height / 2) * LEGIBLE;
  return { x: 16 - box.x * LEGIBLE, y, zoom: LEGIBLE };
}

const canvas = () => document.querySelector(".react-flow")?.getBoundingClientRect();

/** Moves so that some nodes, or all, are in view. */
export function frame(
  flow: ReactFlowInstance,
  picture: Picture,
  ids: Iterable<string> = picture.keys(),
  duration = pace(),
): void {
  const box = boxOf(picture, ids);
  const { width, height } = canvas() ?? { width: 0, height: 0 };
  if (!box || !width) return;
  const all = getViewportForBounds(box, width, height, FARTHEST_OUT, 1, PADDING);
  const view = width < NARROW && all.zoom < LEGIBLE ? beginning(box, height) : all;
  void flow.setViewport(view, { duration });
}

function isInView(flow: ReactFlowInstance, picture: Picture, ids: Iterable<string>): boolean {
  const box = boxOf(picture, ids);
  const size = canvas();
  if (!box || !size) return true;
  const { x, y, zoom } = flow.getViewport();
  const [left, top] = [box.x * zoom + x, box.y * zoom + y];
  const [right, bottom] = [left + box.width * zoom, top + box.height * zoom];
  return left >= 0 && top >= 0 && right <= size.width && bottom <= size.height;
}

/** Frames everything at first, and then a path or another neighbourhood that lies outside. */
export function useFraming(picture: Picture, scene: Scene): void {
  const flow = useReactFlow();
  const { state } = useView();
  const framed = useRef("");
  const centred = useRef("");
  const isReady = picture.size > 0 && !scene.isStale;
  const place = [state.anchors.join(), state.everything, state.folded, state.together.join()].join(
    "|",
  );
  const path = [scene.path?.size, state.column, state.records, state.partition, state.offsets];
  const key = [place, ...path, state.isolate].join("|");
  useEffect(() => {
    if (!isReady || framed.current === key) return;
    const isFirst = framed.current === "";
    const isElsewhere = centred.current !== place;
    framed.current = key;
    centred.current = place;
    const isNarrow = (canvas()?.width ?? NARROW) < NARROW;
    const chosen = isNarrow && state.selected ? [state.selected] : picture.keys();
    const ids = [...(scene.path ?? chosen)];
    if (isFirst) frame(flow, picture, ids, 0);
    else if (isElsewhere || !isInView(flow, picture, ids)) frame(flow, picture, ids);
  }, [isReady, key, picture, scene.path, flow, place, state.selected]);
}
