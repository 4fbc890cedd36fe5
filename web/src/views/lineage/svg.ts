// The graph as a drawing of its own, in the colours that the page has now.
import { curve } from "../../graph/geometry";
import { edgeKey } from "../../graph/model";
import { headHeight, ROW } from "../../graph/sizes";
import { SIGN } from "../../graph/state";
import { latest } from "../../live/pulses";
import type { Drawn, Picture } from "./draw";
import { columnEnds, endsOf } from "./Edges";
import type { Scene } from "./useScene";

const MARGIN = 32;

type Ink = (token: string) => string;

/** Reads tokens as they are computed: light or dark. */
function inks(): Ink {
  const probe = document.createElement("span");
  document.body.append(probe);
  const found = new Map<string, string>();
  return (token) => {
    const known = found.get(token);
    if (known) return known;
    probe.style.color = `var(--${token})`;
    const colour = getComputedStyle(probe).color;
    found.set(token, colour);
    queueMicrotask(() => probe.remove());
    return colour;
  };
}

export function toSvg(picture: Picture, scene: Scene): string {
  const ink = inks();
  const all = [...picture.values()];
  const left = Math.min(...all.map(({ place }) => place.x)) - MARGIN;
  const top = Math.min(...all.map(({ place }) => place.y)) - MARGIN;
  const right = Math.max(...all.map(({ place, size }) => place.x + size.width)) + MARGIN;
  const bottom = Math.max(...all.map(({ place, size }) => place.y + size.height)) + MARGIN;
  const [width, height] = [right - left, bottom - top];
  const edges = scene.graph.edges.map((edge) => {
    const ends = endsOf(picture, edge);
    const tone = scene.trail?.keys.has(edgeKey(edge.from, edge.to)) ? "accent" : "edge";
    return ends ? line(curve(ends.from, ends.to), ink(tone), 1.5) : "";
  });
  const columns = (scene.lit?.edges ?? []).map((edge) => {
    const ends = columnEnds(picture, scene, edge);
    if (!ends) return "";
    const sign = edge.deed === "identity" ? "" : edge.sign;
    return (
      line(curve(ends.from, ends.to), ink("accent"), 1.5, edge.deed === "indirect") +
      text(ends.to.x - 16, ends.to.y + 4, sign, ink("accent"), 12)
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" `,
    `viewBox="${left} ${top} ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${ink("paper")}"/>`,
    ...edges,
    ...columns,
    ...all.map((drawn) => shape(drawn, ink)),
    "</svg>",
  ].join("");
}

function shape(drawn: Drawn, ink: Ink): string {
  const { node, place, size, shown } = drawn;
  const isJob = node.kind === "job";
  const radius = isJob ? headHeight(node) / 2 : 2;
  const pulse = isJob ? latest(node.id, node.data) : null;
  const sub = pulse ? `${SIGN[pulse.state]} ${pulse.state}` : node.data.namespace;
  const inset = isJob ? 24 : 12;
  const rows = shown.rows.map((row, number) => {
    const tone = drawn.litFields.has(row) ? "accent" : "ink";
    const y = place.y + headHeight(node) + number * ROW + 15;
    return text(place.x + 12, y, row, ink(tone), 12);
  });
  return [
    `<g opacity="${drawn.isFaded ? 0.2 : 1}">`,
    `<rect x="${place.x}" y="${place.y}" width="${size.width}" height="${size.height}" `,
    `rx="${radius}" fill="${ink("surface")}" stroke="${ink("line-strong")}"/>`,
    text(place.x + inset, place.y + 24, node.data.name, ink("ink"), 14),
    text(place.x + inset, place.y + headHeight(node) - 12, sub, ink("ink-soft"), 12),
    ...rows,
    drawn.stop ? text(place.x + inset, place.y - 6, drawn.stop.text, ink("accent"), 12) : "",
    "</g>",
  ].join("");
}

function line(path: string, colour: string, width: number, isDotted = false): string {
  const dots = isDotted ? ' stroke-dasharray="2 4"' : "";
  return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}"${dots}/>`;
}

function text(x: number, y: number, words: string, colour: string, size: number): string {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" fill="${colour}" font-size="${size}">${safe}</text>`;
}
