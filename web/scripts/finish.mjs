// After the build: keep each file also compressed, and hold the first load to its budget.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const FOLDER = new URL("../../src/headwater/server/page", import.meta.url).pathname;
const PACKED = new Set([".html", ".js", ".css", ".svg"]);
const BUDGET = 400 * 1024; // bytes, gzipped; the layout worker is fetched apart

const files = readdirSync(FOLDER, { recursive: true })
  .map((name) => join(FOLDER, String(name)))
  .filter((path) => statSync(path).isFile() && PACKED.has(extname(path)));

let first = 0;
for (const path of files) {
  const body = readFileSync(path);
  const packed = gzipSync(body, { level: 9 });
  writeFileSync(`${path}.gz`, packed);
  const quality = { [constants.BROTLI_PARAM_QUALITY]: path.includes("elk-worker") ? 9 : 11 };
  writeFileSync(`${path}.br`, brotliCompressSync(body, { params: quality }));
  if (!path.includes("elk-worker")) first += packed.length;
}
const told = `${(first / 1024).toFixed(0)} KB gzipped, the layout worker apart`;
if (first > BUDGET) {
  console.error(`The page is too large: ${told}; it may be ${BUDGET / 1024} KB.`);
  process.exit(1);
}
console.log(`The page is ${told}.`);
