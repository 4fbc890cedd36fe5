// The two shapes of the graph: square cards for datasets, rounded capsules for jobs.
import type { Node, NodeProps } from "@xyflow/react";
import { type CSSProperties, memo } from "react";
import { fieldId } from "../../api/names";
import { ColumnType } from "../../components/ColumnType";
import { Icon } from "../../components/Icon";
import { StateDot } from "../../components/StateBadge";
import { WrappedName } from "../../components/WrappedName";
import { groupIn } from "../../graph/collapse";
import { MARK_SIGN, type Mark } from "../../graph/diff";
import { hueOf, KIND_WORD, kindOf } from "../../graph/kinds";
import type { DatasetNode, JobNode } from "../../graph/model";
import { headHeight } from "../../graph/sizes";
import { shownState } from "../../graph/state";
import { useNow } from "../../live/now";
import { usePulse } from "../../live/pulses";
import type { Drawn } from "./draw";
import { pulseLine } from "./pulseLine";
import { useView } from "./state";

export type FlowNode = Node<{ drawn: Drawn }, "dataset" | "job">;

function classes(drawn: Drawn, shape: string): string {
  const { isFaded, isSelected, isAnchor, mark } = drawn;
  return [
    "node",
    shape,
    isFaded && "faded",
    isSelected && "selected",
    isAnchor && "anchor",
    mark && `mark-${mark}`,
  ]
    .filter(Boolean)
    .join(" ");
}

function More({ drawn }: { drawn: Drawn }) {
  const { state, change } = useView();
  const { hidden, node } = drawn;
  if (!hidden) return null;
  const show = (way: "up" | "down") =>
    change({
      anchors: [...new Set([...state.anchors, node.id])],
      [way]: Math.max(1, state[way]),
    });
  return (["up", "down"] as const).map((way) =>
    hidden[way] > 0 ? (
      <button
        key={way}
        type="button"
        className={`more ${way}`}
        onClick={() => show(way)}
        title={`Show ${hidden[way]} more ${way}stream`}
        aria-label={`Show ${hidden[way]} more ${way}stream of ${node.data.name}`}
      >
        +{hidden[way]}
      </button>
    ) : null,
  );
}

function MarkSign({ drawn }: { drawn: Drawn }) {
  if (!drawn.mark) return null;
  return (
    <span className={`mark ${drawn.mark}`} role="img" aria-label={drawn.mark} title={drawn.mark}>
      {MARK_SIGN[drawn.mark]}
    </span>
  );
}

/** How much of a node the records reached that are followed. */
function StopSign({ drawn: { stop } }: { drawn: Drawn }) {
  if (!stop) return null;
  const title = stop.isExact
    ? `${stop.text}: exact`
    : `${stop.text}: superset, may hold more than the records`;
  return (
    <span className={`stop ${stop.isExact ? "exact" : "superset"}`} title={title}>
      {stop.text}
    </span>
  );
}

/** Chooses a node; a namespace drawn as one node opens instead. */
function useChoose(id: string): () => void {
  const { state, change } = useView();
  const group = groupIn(id);
  if (group === null) return () => change({ selected: id });
  return () => change({ together: state.together.filter((one) => one !== group) }, "replace");
}

function JobShape({ data }: NodeProps<FlowNode>) {
  const { drawn } = data;
  const node = drawn.node as JobNode;
  const choose = useChoose(node.id);
  const now = useNow();
  const pulse = usePulse(node.id, node.data);
  const state = shownState(pulse, now);
  return (
    <div className={`${classes(drawn, "job")} is-${state}`} data-node={node.id}>
      <button type="button" className="head" onClick={choose}>
        <span className="hidden">Job</span>
        <span className="title">
          <Icon name={node.data.type === "STREAM" ? "stream" : "batch"} />
          <WrappedName name={node.data.simpleName} />
          <MarkSign drawn={drawn} />
        </span>
        <span className="sub">
          <StateDot state={state} />
          <span className="figures">{pulseLine(pulse, state, now)}</span>
        </span>
      </button>
      <StopSign drawn={drawn} />
      <More drawn={drawn} />
    </div>
  );
}

function DatasetShape({ data }: NodeProps<FlowNode>) {
  const { drawn } = data;
  const node = drawn.node as DatasetNode;
  const choose = useChoose(node.id);
  const { namespace, name, fields } = node.data;
  const kind = kindOf(namespace, name);
  const hue = { "--hue": hueOf(namespace) } as CSSProperties;
  return (
    <div className={classes(drawn, "dataset")} data-node={node.id} style={hue}>
      <button type="button" className="head" onClick={choose}>
        <span className="hidden">{KIND_WORD[kind]}</span>
        <span className="title">
          <Icon name={kind} />
          <WrappedName name={name} />
          <MarkSign drawn={drawn} />
        </span>
        <span className="sub">
          <span className="figures">{namespace}</span>
        </span>
      </button>
      {(fields.length > 0 || (drawn.isBrief && !groupIn(node.id))) && (
        <Toggle drawn={drawn} count={fields.length} />
      )}
      <Rows drawn={drawn} node={node} />
      <StopSign drawn={drawn} />
      <More drawn={drawn} />
    </div>
  );
}

function Toggle({ drawn, count }: { drawn: Drawn; count: number }) {
  const { state, change } = useView();
  const { id, data } = drawn.node;
  const told = count > 0 ? `${count} columns` : "columns";
  const open = drawn.isOpen ? state.open.filter((one) => one !== id) : [...state.open, id];
  return (
    <button
      type="button"
      className="toggle"
      aria-expanded={drawn.isOpen}
      aria-label={`${drawn.isOpen ? "Close" : "Open"} the ${told} of ${data.name}`}
      title={`${told} (C)`}
      style={{ top: headHeight(drawn.node) - 26 }}
      onClick={() => change({ open }, "replace")}
    >
      {count > 0 ? count : ""} {drawn.isOpen ? "▴" : "▾"}
    </button>
  );
}

function Rows({ drawn, node }: { drawn: Drawn; node: DatasetNode }) {
  const { state, change } = useView();
  const { shown, litFields, chosen } = drawn;
  if (shown.rows.length === 0) return null;
  const fields = new Map(node.data.fields.map((field) => [field.name, field]));
  const light = (field: string) => {
    const id = fieldId(node.data, field);
    change({ column: state.column === id ? null : id, selected: null });
  };
  return (
    <ul className="rows" aria-label={`Columns of ${node.data.name}`}>
      {shown.rows.map((field) => (
        <li key={field} className={state.column && !litFields.has(field) ? "dim" : ""}>
          <button
            type="button"
            className={`column ${litFields.has(field) ? "lit" : ""}`}
            aria-pressed={chosen === field}
            onClick={() => light(field)}
            title={`${field}: show where it comes from and what it feeds`}
          >
            <span className="name">
              <FieldMark mark={drawn.fieldMarks.get(field)} />
              {field}
            </span>
            <span className="type">
              <ColumnType field={fields.get(field)} />
            </span>
          </button>
        </li>
      ))}
      {shown.more > 0 && <li className="rest">{shown.more} more</li>}
    </ul>
  );
}

function FieldMark({ mark }: { mark: Mark | undefined }) {
  if (!mark) return null;
  return (
    <span className={`mark ${mark}`} role="img" aria-label={mark}>
      {MARK_SIGN[mark]}{" "}
    </span>
  );
}

export const nodeTypes = { job: memo(JobShape), dataset: memo(DatasetShape) };
