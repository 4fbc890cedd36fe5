// What can be asked of the graph.
import { useReactFlow } from "@xyflow/react";
import { copy } from "../../components/clipboard";
import type { Picture } from "./draw";
import { saveJson, savePng, saveSvg } from "./exports";
import { frame } from "./framing";
import { FARTHEST, useView } from "./state";
import type { Scene } from "./useScene";

interface Props {
  scene: Scene;
  picture: Picture;
  help: () => void;
}

export function Toolbar({ scene, picture, help }: Props) {
  const { state, change } = useView();
  const flow = useReactFlow();
  const fit = () => frame(flow, picture);
  const canIsolate = scene.path !== null || state.selected !== null || state.isolate;
  return (
    <div className="toolbar" role="toolbar" aria-label="Graph">
      <Where scene={scene} />
      {state.anchors.length > 0 && (
        <>
          <DepthChoice way="up" />
          <DepthChoice way="down" />
        </>
      )}
      <button
        type="button"
        aria-pressed={state.isolate}
        disabled={!canIsolate}
        onClick={() => change({ isolate: !state.isolate })}
        title="Show only the path of the selection (I)"
      >
        Isolate
      </button>
      <button
        type="button"
        aria-pressed={state.indirect}
        onClick={() => change({ indirect: !state.indirect }, "replace")}
        title="Show columns that are used only to filter, join, group or sort"
      >
        Indirect
      </button>
      <button
        type="button"
        aria-pressed={state.folded}
        onClick={() => change({ folded: !state.folded })}
        title="Show applications instead of the jobs inside them"
      >
        Fold
      </button>
      <Together scene={scene} />
      <button
        type="button"
        aria-pressed={state.time}
        onClick={() => change({ time: !state.time, at: null, since: null }, "replace")}
        title="Show the graph at an earlier time (T)"
      >
        Time
      </button>
      <button type="button" onClick={fit} title="Fit the graph to the window (F)">
        Fit
      </button>
      <span className="spring" />
      <details className="menu">
        <summary>Share</summary>
        <div className="choices">
          <button type="button" onClick={() => void copy(window.location.href)}>
            Copy link
          </button>
          <button type="button" onClick={() => savePng(picture, scene)}>
            Save as PNG
          </button>
          <button type="button" onClick={() => saveSvg(picture, scene)}>
            Save as SVG
          </button>
          <button type="button" onClick={() => saveJson(scene)}>
            Save as JSON
          </button>
        </div>
      </details>
      <button type="button" onClick={help} title="Keys (?)" aria-label="Show keys">
        ?
      </button>
    </div>
  );
}

/** Which namespaces are drawn as one node. */
function Together({ scene }: { scene: Scene }) {
  const { state, change } = useView();
  if (scene.groups.size === 0) return null;
  const toggle = (group: string) => {
    const rest = state.together.filter((one) => one !== group);
    change({ together: rest.length < state.together.length ? rest : [...rest, group] }, "replace");
  };
  return (
    <details className="menu">
      <summary title="Draw the datasets or jobs of a namespace as one node">Namespaces</summary>
      <div className="choices">
        {[...scene.groups].map(([group, count]) => {
          const [kind = "", ...rest] = group.split(":");
          return (
            <button
              key={group}
              type="button"
              aria-pressed={state.together.includes(group)}
              onClick={() => toggle(group)}
            >
              {count} {kind}s of {rest.join(":")} as one node
            </button>
          );
        })}
      </div>
    </details>
  );
}

function Where({ scene }: { scene: Scene }) {
  const { state, change } = useView();
  const count = scene.graph.nodes.size;
  if (state.anchors.length === 0) {
    const told = scene.whole ? `${count} nodes` : `the busiest ${count} of ${scene.total} nodes`;
    return (
      <span className="where">
        {told}{" "}
        {!scene.whole && (
          <button type="button" className="plain" onClick={() => change({ everything: true })}>
            show all
          </button>
        )}
        {state.everything && (
          <button type="button" className="plain" onClick={() => change({ everything: false })}>
            show the busiest
          </button>
        )}
      </span>
    );
  }
  const names = state.anchors.map((id) => scene.graph.nodes.get(id)?.data.name ?? id);
  return (
    <span className="where">
      around <strong>{names.join(", ")}</strong> · {count} nodes{" "}
      <button type="button" className="plain" onClick={() => change({ anchors: [] })}>
        show all
      </button>
    </span>
  );
}

function DepthChoice({ way }: { way: "up" | "down" }) {
  const { state, change } = useView();
  const value = state[way];
  const step = (by: number) => change({ [way]: value + by }, "replace");
  const word = `${way}stream`;
  return (
    <fieldset className="depth" aria-label={`Depth ${word}`}>
      <button
        type="button"
        onClick={() => step(-1)}
        disabled={value <= 0}
        aria-label={`Less ${word}`}
      >
        −
      </button>
      <span>
        {way === "up" ? "↑" : "↓"} {value >= FARTHEST ? "all" : value}
      </span>
      <button
        type="button"
        onClick={() => step(1)}
        disabled={value >= FARTHEST}
        aria-label={`More ${word}`}
      >
        +
      </button>
    </fieldset>
  );
}
