// Figures and times as people read them.

/** 998, 12.3k, 4.1M. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)}G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toFixed(1);
}

/** 0.4 s, 12 s, 3 min, 2 h, 5 d. */
export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** How long ago. */
export function ago(at: number | string | null, now: number): string {
  const moment = typeof at === "string" ? Date.parse(at) : at;
  if (moment === null || Number.isNaN(moment)) return "never";
  const passed = now - moment;
  return passed < 1500 ? "just now" : `${span(passed).replace(/\.\d/, "")} ago`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** 15 Nov 2026, 12:04:31, in the reader's own zone. */
export function moment(at: number | string | null): string {
  const found = typeof at === "string" ? Date.parse(at) : at;
  if (found === null || Number.isNaN(found)) return "–";
  return `${DAY.format(found)}, ${CLOCK.format(found)}`;
}

/** The clock alone where it is today. */
export function clock(at: number, now: number): string {
  return DAY.format(at) === DAY.format(now) ? CLOCK.format(at) : moment(at);
}

/** How much was written: "3 rows, 1.2 KB in 1 file"; empty where nothing is told. */
export function amount(rows: number | null, bytes: number | null, files: number | null): string {
  const told = [rows !== null && plural(rows, "row"), bytes !== null && size(bytes)];
  const text = told.filter(Boolean).join(", ");
  return files === null ? text : `${text} in ${plural(files, "file")}`.trim();
}

function plural(count: number, what: string): string {
  return `${short(count)} ${what}${count === 1 ? "" : "s"}`;
}

function size(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let left = bytes;
  let unit = 0;
  for (; left >= 1000 && unit < units.length - 1; unit++) left /= 1000;
  return `${unit === 0 ? left : left.toPrecision(3)} ${units[unit]}`;
}
