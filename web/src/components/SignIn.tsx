// Asks for an API key when the server does.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { keyStore, takeKey } from "../api/key";
import { useStored } from "../live/store";
import { Dialog } from "./Dialog";

export function SignIn() {
  const [key, setKey] = useState("");
  const client = useQueryClient();
  const wasRefused = useStored(keyStore).key !== "";
  const enter = (event: FormEvent) => {
    event.preventDefault();
    takeKey(key.trim());
    void client.resetQueries();
  };
  return (
    <Dialog label="Sign in" close={() => {}} className="sign-in">
      <form onSubmit={enter}>
        <h2>Sign in</h2>
        <p>This server requires an API key. Ask its administrator for one.</p>
        {wasRefused && (
          <p className="failure" role="alert">
            The key was not accepted.
          </p>
        )}
        <label>
          API key
          <input
            type="password"
            autoComplete="current-password"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            required
          />
        </label>
        <button type="submit" className="primary">
          Sign in
        </button>
      </form>
    </Dialog>
  );
}
