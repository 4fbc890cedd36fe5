// A small chart of a figure over time, with its extent and its last value in words.
import { clock, short } from "../graph/words";
import { useNow } from "../live/now";

export interface Dot {
  at: number;
  value: number;
}

interface Props {
  label: string;
  dots: readonly Dot[];
  unit: string;
}

const [WIDTH, HEIGHT] = [600, 96];

export function Line({ label, dots, unit }: Props) {
  const now = useNow();
  const [first, last] = [dots[0], dots[dots.length - 1]];
  if (!first || !last || dots.length < 2) return null;
  const most = Math.max(1e-9, ...dots.map((dot) => dot.value));
  const x = (dot: Dot) => ((dot.at - first.at) / Math.max(1, last.at - first.at)) * WIDTH;
  const y = (dot: Dot) => HEIGHT - (dot.value / most) * (HEIGHT - 4) - 1;
  const path = dots.map((dot) => `${x(dot).toFixed(1)} ${y(dot).toFixed(1)}`).join("L");
  const told = `${label}: maximum ${short(most)} ${unit}, latest ${short(last.value)} ${unit}`;
  return (
    <figure className="line-chart">
      <figcaption className="sub">{told}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img">
        <title>{told}</title>
        <path className="area" d={`M0 ${HEIGHT}L${path}L${WIDTH} ${HEIGHT}Z`} />
        <path className="line" d={`M${path}`} />
      </svg>
      <p className="sub axis">
        <span>{clock(first.at, now)}</span>
        <span>{clock(last.at, now)}</span>
      </p>
    </figure>
  );
}
