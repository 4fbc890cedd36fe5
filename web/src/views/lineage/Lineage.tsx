// The lineage view: the graph, what is asked of it, and what is known of the thing chosen.
import { ReactFlowProvider } from "@xyflow/react";
import { useMemo, useState } from "react";
import { Empty, Failure, FirstEvent, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { summary } from "../../graph/diff";
import { Canvas } from "./Canvas";
import { draw } from "./draw";
import { KeyHelp } from "./KeyHelp";
import { Panel } from "./Panel";
import { useView } from "./state";
import { TimeBar } from "./TimeBar";
import { Toolbar } from "./Toolbar";
import { useKeys } from "./useKeys";
import { useScene } from "./useScene";

export function Lineage() {
  return (
    <ReactFlowProvider>
      <Inside />
    </ReactFlowProvider>
  );
}

function Inside() {
  const view = useView();
  const { state } = view;
  const scene = useScene(state);
  const picture = useMemo(() => draw(scene, state), [scene, state]);
  const [helps, setHelps] = useState(false);
  useKeys(view, scene, picture, setHelps);
  useTitle(state.column?.split(":").pop() ?? nameOf(state.anchors[0]) ?? "Lineage");
  return (
    <div className="lineage">
      <h1 className="hidden">Lineage</h1>
      <Toolbar scene={scene} picture={picture} help={() => setHelps(true)} />
      <div className="stage">
        <section className="graph" aria-label="Graph">
          {picture.size > 0 ? (
            <Canvas picture={picture} scene={scene} />
          ) : (
            <Nothing scene={scene} />
          )}
          {scene.changed && (
            <button type="button" className="graph-changed" onClick={scene.changed}>
              Graph changed · show
            </button>
          )}
          {picture.size > 0 && scene.error && (
            <div className="notice">
              <Failure error={scene.error} />
            </div>
          )}
        </section>
        <Panel scene={scene} />
      </div>
      <TimeBar told={scene.marks ? summary(scene.marks) : ""} />
      {helps && <KeyHelp close={() => setHelps(false)} />}
    </div>
  );
}

const nameOf = (node: string | undefined) => node?.slice(node.lastIndexOf(":") + 1);

function Nothing({ scene }: { scene: ReturnType<typeof useScene> }) {
  const { state, change } = useView();
  if (scene.error) return <Failure error={scene.error} />;
  if (scene.isLoading || scene.graph.nodes.size > 0) return <Waiting what="the graph" />;
  if (state.at) {
    return (
      <Empty title="There was no lineage at this time">
        <button type="button" onClick={() => change({ at: null, since: null })}>
          Back to now
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="No lineage yet">
      <FirstEvent />
    </Empty>
  );
}
