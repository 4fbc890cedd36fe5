// What stands around every view: where one can go, search, theme, and whether all is well.
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { keyStore, takeKey } from "../api/key";
import { type Connection, connection } from "../live/connection";
import { useStored } from "../live/store";
import { Icon } from "./Icon";
import { Search } from "./Search";
import { SignIn } from "./SignIn";
import { ThemeChoice } from "./ThemeChoice";

const PLACES: [string, string][] = [
  ["/lineage", "Lineage"],
  ["/jobs", "Jobs"],
  ["/datasets", "Datasets"],
  ["/runs", "Runs"],
  ["/pipelines", "Pipelines"],
  ["/events", "Events"],
];

export function Shell({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const [isSearching, setSearching] = useState(false);
  const { key, wanted } = useStored(keyStore);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isWriting =
        event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      const isSearch = (event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k";
      if (!isSearch && (event.key !== "/" || isWriting)) return;
      event.preventDefault();
      setSearching(true);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link href="/lineage" className="mark">
          <span aria-hidden="true">◈</span> Headwater
        </Link>
        <nav aria-label="Views">
          {PLACES.map(([path, name]) => (
            <Link
              key={path}
              href={path}
              aria-current={location.startsWith(path) ? "page" : undefined}
            >
              {name}
            </Link>
          ))}
        </nav>
        <span className="spring" />
        <button type="button" className="search-open" onClick={() => setSearching(true)}>
          <Icon name="search" />
          <span>Search</span>
          <kbd>⌘K</kbd>
        </button>
        <Connected />
        {key && (
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        )}
        <ThemeChoice />
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {isSearching && <Search close={() => setSearching(false)} />}
      {wanted && <SignIn />}
    </div>
  );
}

/** Forgets the key, and with the page everything that was read with it. */
function signOut(): void {
  takeKey("");
  window.location.reload();
}

const TOLD: Record<Connection, [string, string, string]> = {
  connecting: ["○", "connecting", "Waiting for the server"],
  live: ["●", "live", "States are updated live"],
  polling: ["●", "live", "States are polled every two seconds"],
  lost: ["✕", "connection lost", "The server does not answer; the page retries automatically"],
};

function Connected() {
  const [sign, word, why] = TOLD[useStored(connection)];
  return (
    <span className={`connected ${word.replace(" ", "-")}`} role="status" title={why}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}
