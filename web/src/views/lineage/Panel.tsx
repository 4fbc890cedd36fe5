// What is known of the thing that was chosen.
import { Icon } from "../../components/Icon";
import { ColumnPanel } from "./ColumnPanel";
import { DatasetPanel } from "./DatasetPanel";
import { JobPanel } from "./JobPanel";
import { useView } from "./state";
import type { Scene } from "./useScene";

export function Panel({ scene }: { scene: Scene }) {
  const { state, change } = useView();
  const node = state.selected ? scene.graph.nodes.get(state.selected) : undefined;
  const isColumn = !node && state.column !== null;
  if (!node && !isColumn) return null;
  return (
    <aside className="panel" aria-label="Details">
      <button
        type="button"
        className="close"
        aria-label="Close details"
        onClick={() => change(node ? { selected: null } : { column: null, isolate: false })}
      >
        <Icon name="close" />
      </button>
      {node?.kind === "job" && <JobPanel node={node} />}
      {node?.kind === "dataset" && <DatasetPanel node={node} scene={scene} />}
      {isColumn && <ColumnPanel scene={scene} />}
    </aside>
  );
}
