// The parts of the pipelines view.
import { Link, useLocation } from "wouter";

const PARTS: [string, string][] = [
  ["/pipelines", "Connectors"],
  ["/pipelines/topics", "Topics"],
  ["/pipelines/tables", "Tables"],
];

export function Tabs() {
  const [location] = useLocation();
  return (
    <header className="page-head">
      <h1>Pipelines</h1>
      <nav className="tabs" aria-label="Parts of pipelines">
        {PARTS.map(([path, name]) => (
          <Link key={path} href={path} aria-current={location === path ? "page" : undefined}>
            {name}
          </Link>
        ))}
      </nav>
    </header>
  );
}
