// The states of connectors and tasks, by shape, word and colour.
import type { State } from "../../graph/state";

const KNOWN: Record<string, [string, State]> = {
  RUNNING: ["●", "running"],
  PAUSED: ["‖", "silent"],
  STOPPED: ["■", "aborted"],
  FAILED: ["✕", "failed"],
  UNASSIGNED: ["○", "unknown"],
  RESTARTING: ["◌", "silent"],
};

export function ConnectorState({ state, isShort = false }: { state: string; isShort?: boolean }) {
  const [sign, tone] = KNOWN[state] ?? ["○", "unknown"];
  const word = state.toLowerCase();
  return isShort ? (
    <span className={`dot ${tone}`} role="img" aria-label={`task ${word}`} title={word}>
      {sign}
    </span>
  ) : (
    <span className={`badge ${tone}`}>
      <span className={`dot ${tone}`} aria-hidden="true">
        {sign}
      </span>
      {word}
    </span>
  );
}
