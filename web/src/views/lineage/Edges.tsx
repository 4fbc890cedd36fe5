// The edges of the graph, beneath its nodes; columns' edges where a column is lit.
import { memo } from "react";
import { type ColumnEdge, formulaOf } from "../../graph/columns";
import { MARK_SIGN, type Marks } from "../../graph/diff";
import { curve, thickness } from "../../graph/geometry";
import { edgeKey, type GraphEdge } from "../../graph/model";
import { headHeight, type Point, rowMiddle } from "../../graph/sizes";
import type { Trail } from "../../graph/trail";
import { latest, usePulseCount } from "../../live/pulses";
import type { Drawn, Picture } from "./draw";
import type { Scene } from "./useScene";

const SIGN_AT = 16; // how far before a card an edge's sign stands
const FORMULA_AT = 30; // how far before it the expression ends
const LONGEST = 40; // characters of an expression on an edge; the panel has all of it

interface Ends {
  from: Point;
  to: Point;
}

export function endsOf(picture: Picture, edge: GraphEdge): Ends | null {
  const origin = picture.get(edge.from);
  const target = picture.get(edge.to);
  if (!origin || !target) return null;
  return {
    from: { x: origin.place.x + origin.size.width, y: origin.place.y + middle(origin) },
    to: { x: target.place.x, y: target.place.y + middle(target) },
  };
}

const middle = (drawn: Drawn) => headHeight(drawn.node) / 2;

export function columnEnds(picture: Picture, scene: Scene, edge: ColumnEdge): Ends | null {
  const find = (id: string): [Drawn, number] | null => {
    const column = scene.columns?.columns.get(id);
    const drawn = column && picture.get(column.dataset);
    if (!column || !drawn) return null;
    const row = drawn.shown.rows.indexOf(column.field);
    return row < 0 ? null : [drawn, row];
  };
  const origin = find(edge.from);
  const target = find(edge.to);
  if (!origin || !target) return null;
  const at = ([drawn, row]: [Drawn, number]) => drawn.place.y + rowMiddle(drawn.node, row);
  return {
    from: { x: origin[0].place.x + origin[0].size.width, y: at(origin) },
    to: { x: target[0].place.x, y: at(target) },
  };
}

/** How much flows along an edge now, by the job at one of its ends. */
function flow(picture: Picture, edge: GraphEdge): number | null {
  for (const id of [edge.from, edge.to]) {
    const node = picture.get(id)?.node;
    if (node?.kind !== "job") continue;
    const pulse = latest(id, node.data);
    return pulse.state === "running" ? pulse.rate : null;
  }
  return null;
}

function TableEdge({
  picture,
  edge,
  marks,
  trail,
}: {
  picture: Picture;
  edge: GraphEdge;
  marks: Marks | null;
  /** What records reached, where that is what is lit. */
  trail: Trail | null;
}) {
  const ends = endsOf(picture, edge);
  if (!ends) return null;
  const rate = flow(picture, edge);
  const key = edgeKey(edge.from, edge.to);
  const isReached = trail?.keys.has(key);
  const isFaded = trail
    ? !isReached
    : picture.get(edge.from)?.isFaded || picture.get(edge.to)?.isFaded;
  const mark = marks?.edges.get(key);
  const path = curve(ends.from, ends.to);
  const state = `${isFaded ? "faded" : ""} ${isReached ? "reached" : ""} ${mark ? `mark-${mark}` : ""}`;
  return (
    <g className={`edge ${state}`}>
      <path d={path} strokeWidth={thickness(rate)} />
      {rate ? <path className="flow" d={path} /> : null}
      <path className="tip" d={`M${ends.to.x - 7} ${ends.to.y - 4}l6 4l-6 4z`} />
      {mark && (
        <text x={(ends.from.x + ends.to.x) / 2} y={(ends.from.y + ends.to.y) / 2 - 6}>
          {MARK_SIGN[mark]}
        </text>
      )}
    </g>
  );
}

interface LineProps {
  ends: Ends;
  edge: ColumnEdge;
  formula: string;
  /** Whether the expression is written on the edge: once for each column that it makes. */
  isTold: boolean;
}

function ColumnLine({ ends, edge, formula, isTold }: LineProps) {
  const { to } = ends;
  const isPlain = edge.deed === "identity" || edge.deed === "unreported";
  const shown = formula.length > LONGEST ? `${formula.slice(0, LONGEST - 1)}…` : formula;
  return (
    <g className={`column-edge ${edge.deed}`}>
      <title>{formula ? `${edge.word}: ${formula}` : edge.word}</title>
      <path d={curve(ends.from, to)} />
      <circle cx={to.x} cy={to.y} r="3" />
      <circle cx={ends.from.x} cy={ends.from.y} r="3" />
      {!isPlain && (
        <>
          <circle className="sign" cx={to.x - SIGN_AT} cy={to.y} r="8" />
          <text x={to.x - SIGN_AT} y={to.y + 4}>
            {edge.sign}
          </text>
        </>
      )}
      {isTold && (
        <text className="formula" x={to.x - FORMULA_AT} y={to.y - 5}>
          {shown}
        </text>
      )}
    </g>
  );
}

interface LayerProps {
  picture: Picture;
  scene: Scene;
  isLarge: boolean;
}

function EdgeLayer({ picture, scene, isLarge }: LayerProps) {
  usePulseCount();
  const told = new Set<string>(); // expressions that are written already
  return (
    <svg className="edges" aria-hidden="true">
      {(isLarge ? [] : scene.graph.edges).map((edge) => (
        <TableEdge
          key={edgeKey(edge.from, edge.to)}
          picture={picture}
          edge={edge}
          marks={scene.marks}
          trail={scene.lit ? null : scene.trail}
        />
      ))}
      {scene.lit?.edges.map((edge) => {
        const ends = columnEnds(picture, scene, edge);
        if (!ends) return null;
        const field = scene.columns?.columns.get(edge.to)?.field ?? "";
        const formula = edge.deed === "indirect" ? "" : formulaOf(edge, field);
        const isTold = formula !== "" && !told.has(`${edge.to}\n${formula}`);
        told.add(`${edge.to}\n${formula}`);
        const key = `${edge.from}\n${edge.to}`;
        return <ColumnLine key={key} ends={ends} edge={edge} formula={formula} isTold={isTold} />;
      })}
    </svg>
  );
}

export const Edges = memo(EdgeLayer);
