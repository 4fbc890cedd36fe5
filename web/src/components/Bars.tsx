// A small bar chart: one bar a thing, each a link with a name.
import { Link } from "wouter";
import type { State } from "../graph/state";

export interface Bar {
  key: string;
  value: number;
  tone: State;
  told: string;
  href: string;
}

interface Props {
  label: string;
  bars: Bar[];
  write: (value: number) => string;
}

export function Bars({ label, bars, write }: Props) {
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  return (
    <figure className="bars">
      <figcaption className="sub">
        {label}; the longest {write(most)}
      </figcaption>
      <ol>
        {bars.map((bar) => (
          <li key={bar.key}>
            <Link href={bar.href} className={bar.tone} aria-label={bar.told} title={bar.told}>
              <span style={{ height: `${Math.max(3, (100 * bar.value) / most)}%` }} />
            </Link>
          </li>
        ))}
      </ol>
    </figure>
  );
}
