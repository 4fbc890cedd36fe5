// A state by shape, word and colour.
import { SIGN, type State } from "../graph/state";

export function StateDot({ state }: { state: State }) {
  return (
    <span className={`dot ${state}`} role="img" aria-label={state} title={state}>
      {SIGN[state]}
    </span>
  );
}

export function StateBadge({ state }: { state: State }) {
  return (
    <span className={`badge ${state}`}>
      <span className={`dot ${state}`} aria-hidden="true">
        {SIGN[state]}
      </span>
      {state}
    </span>
  );
}
