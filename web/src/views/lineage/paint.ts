// Paints a large graph on a canvas, as much of it as can be seen.
import { bend } from "../../graph/geometry";
import type { GraphEdge } from "../../graph/model";
import { headHeight, type Point } from "../../graph/sizes";
import { SIGN } from "../../graph/state";
import { latest } from "../../live/pulses";
import type { Drawn, Picture } from "./draw";
import { endsOf } from "./Edges";

/** Nearer than this, nodes are elements; from farther, they are painted. */
export const NEAR = 0.65;
const NAMES = 0.16; // nearer than this, painted nodes have names

interface Line {
  from: Point;
  to: Point;
  isFaded: boolean;
}

export interface Ground {
  picture: Picture;
  lines: readonly Line[];
}

/** What is painted, with all that stays the same wherever it is seen from. */
export function groundOf(picture: Picture, edges: readonly GraphEdge[]): Ground {
  const lines: Line[] = [];
  for (const edge of edges) {
    const ends = endsOf(picture, edge);
    if (!ends) continue;
    const isFaded = picture.get(edge.from)?.isFaded || picture.get(edge.to)?.isFaded || false;
    lines.push({ ...ends, isFaded });
  }
  return { picture, lines };
}

export interface Sight {
  x: number;
  y: number;
  zoom: number;
  width: number;
  height: number;
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function paint(
  canvas: HTMLCanvasElement,
  ground: Ground,
  sight: Sight,
  margin: number,
): void {
  const pixel = Math.min(2, window.devicePixelRatio || 1);
  const width = sight.width * (1 + 2 * margin);
  const height = sight.height * (1 + 2 * margin);
  canvas.width = width * pixel;
  canvas.height = height * pixel;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const [left, top] = [sight.x + sight.width * margin, sight.y + sight.height * margin];
  const scale = sight.zoom * pixel;
  pen.setTransform(scale, 0, 0, scale, left * pixel, top * pixel);
  const view = {
    left: -left / sight.zoom,
    top: -top / sight.zoom,
    right: (width - left) / sight.zoom,
    bottom: (height - top) / sight.zoom,
  };
  const ink = inkOf(canvas);
  paintEdges(pen, ground, view, sight.zoom, ink);
  if (sight.zoom < NEAR) paintNodes(pen, ground, view, sight.zoom, ink);
}

type Ink = (token: string) => string;

function inkOf(element: HTMLElement): Ink {
  const style = getComputedStyle(element);
  const probe = (token: string) => style.getPropertyValue(`--${token}`);
  const isDark =
    document.documentElement.dataset.theme === "dark" ||
    (document.documentElement.dataset.theme !== "light" &&
      matchMedia("(prefers-color-scheme: dark)").matches);
  const known = new Map<string, string>();
  return (token) => {
    const found = known.get(token);
    if (found !== undefined) return found;
    const pair = /light-dark\(([^,]+),([^)]+)\)/.exec(probe(token));
    const colour = (pair ? pair[isDark ? 2 : 1] : probe(token))?.trim() ?? "";
    known.set(token, colour);
    return colour;
  };
}

function paintEdges(
  pen: CanvasRenderingContext2D,
  { lines }: Ground,
  view: Box,
  zoom: number,
  ink: Ink,
): void {
  const full = new Path2D();
  const faded = new Path2D();
  let count = 0;
  for (const { from, to, isFaded } of lines) {
    if (Math.max(from.x, to.x) < view.left || Math.min(from.x, to.x) > view.right) continue;
    if (Math.max(from.y, to.y) < view.top || Math.min(from.y, to.y) > view.bottom) continue;
    count += 1;
    const path = isFaded ? faded : full;
    path.moveTo(from.x, from.y);
    if (zoom < NAMES) path.lineTo(to.x, to.y);
    else {
      const reach = bend(from, to);
      path.bezierCurveTo(from.x + reach, from.y, to.x - reach, to.y, to.x, to.y);
    }
  }
  pen.strokeStyle = ink("edge");
  pen.lineWidth = Math.max(1, 0.6 / zoom);
  // Thousands of lines in one place are a grey cloud; the more they are, the fainter each.
  pen.globalAlpha = zoom < NAMES ? Math.max(0.08, Math.min(0.4, 1_500 / count)) : 0.8;
  pen.stroke(full);
  pen.globalAlpha = 0.1;
  pen.stroke(faded);
  pen.globalAlpha = 1;
}

function paintNodes(
  pen: CanvasRenderingContext2D,
  { picture }: Ground,
  view: Box,
  zoom: number,
  ink: Ink,
): void {
  const [surface, line, text] = [ink("surface"), ink("line-strong"), ink("ink")];
  for (const drawn of picture.values()) {
    const { place, size } = drawn;
    if (place.x > view.right || place.x + size.width < view.left) continue;
    if (place.y > view.bottom || place.y + size.height < view.top) continue;
    pen.globalAlpha = drawn.isFaded ? 0.2 : 1;
    pen.beginPath();
    pen.roundRect(place.x, place.y, size.width, size.height, drawn.node.kind === "job" ? 28 : 2);
    pen.fillStyle = zoom < NAMES ? tone(drawn, ink, line) : surface;
    pen.fill();
    pen.strokeStyle = drawn.isSelected ? ink("accent") : tone(drawn, ink, line);
    pen.lineWidth = (drawn.isSelected ? 3 : 1) / zoom;
    if (zoom >= NAMES) {
      pen.stroke();
      name(pen, drawn, text);
    }
  }
  pen.globalAlpha = 1;
}

function tone({ node }: Drawn, ink: Ink, otherwise: string): string {
  if (node.kind !== "job") return ink("edge");
  const { state } = latest(node.id, node.data);
  return state === "failed" || state === "aborted" || state === "running" ? ink(state) : otherwise;
}

function name(pen: CanvasRenderingContext2D, { node, place, size }: Drawn, colour: string): void {
  const told = node.kind === "job" ? node.data.simpleName : node.data.name;
  const sign = node.kind === "job" ? `${SIGN[latest(node.id, node.data).state]} ` : "";
  pen.fillStyle = colour;
  pen.font = "600 22px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const most = 15;
  const tail = told.length > most ? `…${told.slice(1 - most)}` : told;
  pen.fillText(sign + tail, place.x + 18, place.y + headHeight(node) / 2, size.width - 30);
}
