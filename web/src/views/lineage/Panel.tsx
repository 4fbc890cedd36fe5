// What is known of the thing that was chosen.
import { Icon } from "../../components/Icon";
import { ColumnPanel } from "./ColumnPanel";
import { DatasetPanel } from "./DatasetPanel";
import { JobPanel } from "./JobPanel";
import { ReachedPanel } from "./ReachedPanel";
import { NO_RECORDS, useView } from "./state";
import type { Scene } from "./useScene";

export function Panel({ scene }: { scene: Scene }) {
  const { state, change } = useView();
  const node = state.selected ? scene.graph.nodes.get(state.selected) : undefined;
  const isColumn = !node && state.column !== null;
  const isReached = !node && !isColumn && state.records !== null;
  if (!node && !isColumn && !isReached) return null;
  const close = () => {
    if (node) change({ selected: null });
    else if (isColumn) change({ column: null, isolate: false });
    else change({ ...NO_RECORDS, isolate: false });
  };
  return (
    <aside className="panel" aria-label="Details">
      <button type="button" className="close" aria-label="Close details" onClick={close}>
        <Icon name="close" />
      </button>
      {node?.kind === "job" && <JobPanel node={node} />}
      {node?.kind === "dataset" && <DatasetPanel node={node} scene={scene} />}
      {isColumn && <ColumnPanel scene={scene} />}
      {isReached && <ReachedPanel scene={scene} />}
    </aside>
  );
}
