import { useView } from "./state";

export function TimeBar() {
  const { state } = useView();
  return state.time ? <div className="timebar" /> : null;
}
