import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/headwater/server/page",
    emptyOutDir: true,
    target: "es2022",
    // A strict content policy allows no data: scripts, and small files are cheap.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:5000" } },
});
