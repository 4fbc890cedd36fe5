// Large graphs: edges, and from afar nodes too, on one canvas instead of thousands of elements.
//
// While the reader pans or zooms, the picture that was drawn is only moved; it is drawn anew when
// they pause, or come to its margin. So a frame costs the same however large the graph is.
import { useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { watchPulses } from "../../live/pulses";
import type { Picture } from "./draw";
import { groundOf, paint, type Sight } from "./paint";
import type { Scene } from "./useScene";

const MARGIN = 0.5; // of the canvas, drawn beyond each of its sides
const PAUSE = 90; // milliseconds
const STATES = 1_000; // milliseconds in which several news of jobs are painted once

export function Far({ picture, scene }: { picture: Picture; scene: Scene }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const ground = groundOf(picture, scene.graph.edges);
    let drawn: Sight | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let later: ReturnType<typeof setTimeout> | undefined;
    const redraw = () => {
      const { transform, width, height } = store.getState();
      if (width === 0) return;
      drawn = { x: transform[0], y: transform[1], zoom: transform[2], width, height };
      paint(element, ground, drawn, MARGIN);
      element.style.transform = place(drawn, drawn);
    };
    const follow = () => {
      const { transform, width, height } = store.getState();
      const sight = { x: transform[0], y: transform[1], zoom: transform[2], width, height };
      clearTimeout(timer);
      if (!drawn || isOutside(drawn, sight)) redraw();
      else {
        element.style.transform = place(drawn, sight);
        timer = setTimeout(redraw, PAUSE);
      }
    };
    redraw();
    const forget = store.subscribe((state, before) => {
      if (state.transform !== before.transform || state.width !== before.width) follow();
    });
    const themes = new MutationObserver(redraw);
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const pulses = watchPulses(() => {
      later ??= setTimeout(() => {
        later = undefined;
        redraw();
      }, STATES);
    });
    return () => {
      forget();
      pulses();
      clearTimeout(later);
      themes.disconnect();
      clearTimeout(timer);
    };
  }, [picture, scene, store]);
  return <canvas ref={canvas} className="far" />;
}

/** How what was drawn from one place is moved to be seen from another. */
function place(drawn: Sight, now: Sight): string {
  const scale = now.zoom / drawn.zoom;
  const x = now.x - drawn.x * scale - drawn.width * MARGIN * scale;
  const y = now.y - drawn.y * scale - drawn.height * MARGIN * scale;
  return `translate(${x}px, ${y}px) scale(${scale})`;
}

function isOutside(drawn: Sight, now: Sight): boolean {
  const scale = now.zoom / drawn.zoom;
  if (scale < 0.6 || scale > 2.5 || drawn.width !== now.width) return true;
  const left = now.x - drawn.x * scale - drawn.width * MARGIN * scale;
  const top = now.y - drawn.y * scale - drawn.height * MARGIN * scale;
  const across = drawn.width * (1 + 2 * MARGIN) * scale;
  const down = drawn.height * (1 + 2 * MARGIN) * scale;
  return left > 0 || top > 0 || left + across < now.width || top + down < now.height;
}
