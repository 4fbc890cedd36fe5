// The graph on its canvas: pan, zoom, minimap.
import { Background, MiniMap, ReactFlow, ViewportPortal } from "@xyflow/react";
import { useCallback, useMemo } from "react";
import type { Drawn, Picture } from "./draw";
import { Edges } from "./Edges";
import { FARTHEST_OUT, NEAREST, useFraming } from "./framing";
import { type FlowNode, nodeTypes } from "./Nodes";
import { useView } from "./state";
import type { Scene } from "./useScene";

function flowNode(drawn: Drawn): FlowNode {
  const { node, place, size } = drawn;
  return {
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
}

export function Canvas({ picture, scene }: { picture: Picture; scene: Scene }) {
  const { change } = useView();
  const nodes = useMemo(() => [...picture.values()].map(flowNode), [picture]);
  useFraming(picture, scene);
  const clear = useCallback(() => change({ selected: null, column: null }), [change]);
  return (
    <ReactFlow
      nodes={nodes}
      edges={[]}
      nodeTypes={nodeTypes}
      onPaneClick={clear}
      minZoom={FARTHEST_OUT}
      maxZoom={NEAREST}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      elementsSelectable={false}
      disableKeyboardA11y
      onlyRenderVisibleElements={nodes.length > 150}
      zoomOnDoubleClick={false}
      deleteKeyCode={null}
      attributionPosition="bottom-left"
      proOptions={{ hideAttribution: true }}
      aria-label="Lineage graph"
    >
      <Background gap={24} size={1} />
      <ViewportPortal>
        <Edges picture={picture} scene={scene} />
      </ViewportPortal>
      {nodes.length > 24 && <MiniMap pannable zoomable nodeClassName={miniClass} />}
    </ReactFlow>
  );
}

function miniClass(node: FlowNode): string {
  const { isFaded, isSelected, node: drawn } = node.data.drawn;
  return `mini ${drawn.kind} ${isFaded ? "faded" : ""} ${isSelected ? "selected" : ""}`;
}
