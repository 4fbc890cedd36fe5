import { useState } from "react";

type Theme = "system" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

function current(): Theme {
  const told = document.documentElement.dataset.theme;
  return told === "light" || told === "dark" ? told : "system";
}

export function ThemeChoice() {
  const [theme, setTheme] = useState(current);
  const change = () => {
    const next = NEXT[theme];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("headwater.theme", next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    setTheme(next);
  };
  return (
    <button
      type="button"
      className="theme"
      onClick={change}
      title={`Theme: ${theme}`}
      aria-label={`Theme: ${theme}; change to ${NEXT[theme]}`}
    >
      {SIGNS[theme]}
    </button>
  );
}
