// The nodes that are elements: all of a small graph; of a large one, those that can be seen from near.
import { useStore } from "@xyflow/react";
import { useDeferredValue, useMemo } from "react";
import type { Drawn, Picture } from "./draw";
import { NEAR } from "./paint";

const NONE: Drawn[] = [];
const STEP = 320; // pixels of the graph by which the window of elements moves on
const MARGIN = STEP / 2; // kept ready beyond each side

/** What is in sight, by steps: the same text while the same nodes are near enough to be drawn. */
function windowOf(transform: readonly number[], width: number, height: number): string {
  const [x = 0, y = 0, zoom = 1] = transform;
  if (zoom < NEAR || width === 0) return "";
  const low = (edge: number) => Math.floor((edge - MARGIN) / STEP) * STEP;
  const high = (edge: number) => Math.ceil((edge + MARGIN) / STEP) * STEP;
  const [left, top] = [-x / zoom, -y / zoom];
  return [low(left), low(top), high(left + width / zoom), high(top + height / zoom)].join();
}

export function useSeen(picture: Picture, isLarge: boolean): Drawn[] {
  const now = useStore((state) =>
    isLarge ? windowOf(state.transform, state.width, state.height) : "",
  );
  // What comes into the window is drawn between frames; the margin is there for as long.
  const seen = useDeferredValue(now);
  return useMemo(() => {
    if (!isLarge) return [...picture.values()];
    if (seen === "") return NONE;
    const [left = 0, top = 0, right = 0, bottom = 0] = seen.split(",").map(Number);
    const found: Drawn[] = [];
    for (const drawn of picture.values()) {
      const { place, size } = drawn;
      if (place.x > right || place.x + size.width < left) continue;
      if (place.y > bottom || place.y + size.height < top) continue;
      found.push(drawn);
    }
    return found;
  }, [picture, isLarge, seen]);
}
