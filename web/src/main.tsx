import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { ApiError } from "./api/client";
import "@xyflow/react/dist/base.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/signs.css";
import "./styles/shell.css";
import "./styles/graph.css";
import "./styles/nodes.css";
import "./styles/edges.css";
import "./styles/panel.css";
import "./styles/views.css";
import "./styles/trace.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      // What is wrong with a question stays wrong; what did not arrive may the next time.
      retry: (count, error) =>
        error instanceof ApiError && (error.status === 0 || error.status >= 500) && count < 2,
      retryDelay: 500,
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
