// The graph on its canvas: pan, zoom, minimap.
import { MiniMap, ReactFlow, useReactFlow, ViewportPortal } from "@xyflow/react";
import { type MouseEvent, useCallback, useMemo } from "react";
import { Dots } from "./Dots";
import type { Drawn, Picture } from "./draw";
import { Edges } from "./Edges";
import { Far } from "./Far";
import { FARTHEST_OUT, NEAREST, useFraming } from "./framing";
import { type FlowNode, nodeTypes } from "./Nodes";
import { useView } from "./state";
import type { Scene } from "./useScene";
import { useSeen } from "./useSeen";

const made = new WeakMap<Drawn, FlowNode>();

/** The same element for the same drawing, so that a step to the side draws only what is new. */
function flowNode(drawn: Drawn): FlowNode {
  const { node, place, size } = drawn;
  const known = made.get(drawn);
  if (known) return known;
  const fresh: FlowNode = {
    id: node.id,
    type: node.kind,
    position: place,
    width: size.width,
    height: size.height,
    measured: size,
    data: { drawn },
    draggable: false,
    selectable: false,
    focusable: false,
  };
  made.set(drawn, fresh);
  return fresh;
}

const LARGE = 300; // nodes; beyond them a canvas draws what is far

/** The node at a point of the screen, where nodes are painted. */
function nodeAt(picture: Picture, point: { x: number; y: number }): string | null {
  for (const [id, { place, size }] of picture) {
    const [across, down] = [point.x - place.x, point.y - place.y];
    if (across >= 0 && down >= 0 && across <= size.width && down <= size.height) return id;
  }
  return null;
}

export function Canvas({ picture, scene }: { picture: Picture; scene: Scene }) {
  const { change } = useView();
  const flow = useReactFlow();
  const isLarge = picture.size > LARGE;
  const seen = useSeen(picture, isLarge);
  const nodes = useMemo(() => seen.map(flowNode), [seen]);
  useFraming(picture, scene);
  const press = useCallback(
    (event: MouseEvent) => {
      const point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      const selected = isLarge ? nodeAt(picture, point) : null;
      change(selected ? { selected } : { selected: null, column: null });
    },
    [change, flow, isLarge, picture],
  );
  return (
    <ReactFlow
      nodes={nodes}
      edges={[]}
      nodeTypes={nodeTypes}
      onPaneClick={press}
      minZoom={FARTHEST_OUT}
      maxZoom={NEAREST}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      elementsSelectable={false}
      disableKeyboardA11y
      zoomOnDoubleClick={false}
      deleteKeyCode={null}
      attributionPosition="bottom-left"
      proOptions={{ hideAttribution: true }}
      aria-label="Lineage graph"
    >
      <Dots />
      {isLarge && <Far picture={picture} scene={scene} />}
      <ViewportPortal>
        <Edges picture={picture} scene={scene} isLarge={isLarge} />
      </ViewportPortal>
      {nodes.length > 24 && !isLarge && <MiniMap pannable zoomable nodeClassName={miniClass} />}
    </ReactFlow>
  );
}

function miniClass(node: FlowNode): string {
  const { isFaded, isSelected, node: drawn } = node.data.drawn;
  return `mini ${drawn.kind} ${isFaded ? "faded" : ""} ${isSelected ? "selected" : ""}`;
}
