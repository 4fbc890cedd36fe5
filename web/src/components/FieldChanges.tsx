// What changed from one schema to the next, by sign, word and colour.
import { compareFields, MARK_SIGN, type Typed } from "../graph/diff";

interface Props {
  before: readonly Typed[];
  after: readonly Typed[];
}

export function FieldChanges({ before, after }: Props) {
  const changes = compareFields(before, after);
  if (changes.length === 0) return <small> same columns</small>;
  return changes.map((one) => (
    <span key={one.name} className={`change mark ${one.mark}`}>
      {MARK_SIGN[one.mark]} {one.name}{" "}
      <small>
        {one.before} {one.mark === "changed" && "→"} {one.after}
      </small>
    </span>
  ));
}
