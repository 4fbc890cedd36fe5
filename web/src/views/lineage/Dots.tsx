// The dotted ground of the graph.
//
// It is drawn once for a zoom, and only moved while one pans: a pattern that is painted anew in
// each frame took more time than the graph upon it.
import { useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";

const GAP = 24; // pixels of the graph from dot to dot
const LEAST = 18; // pixels of the screen; nearer dots would be a grey

export function Dots() {
  const ground = useRef<HTMLDivElement>(null);
  const store = useStoreApi();
  useEffect(() => {
    let drawn = 0;
    const follow = () => {
      const element = ground.current;
      const [x, y, zoom] = store.getState().transform;
      if (!element) return;
      let gap = GAP * zoom;
      while (gap < LEAST) gap *= 2;
      if (gap !== drawn) {
        drawn = gap;
        element.style.setProperty("--gap", `${gap}px`);
      }
      element.style.transform = `translate(${(x % gap) - gap}px, ${(y % gap) - gap}px)`;
    };
    follow();
    return store.subscribe((state, before) => {
      if (state.transform !== before.transform) follow();
    });
  }, [store]);
  return <div ref={ground} className="dots" aria-hidden="true" />;
}
