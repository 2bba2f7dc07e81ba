import { execFile } from "node:child_process";
import { PROGRAM } from "./program.ts";

/** Runs an `admin` command in a process of its own. @returns Exit code and what it said. */
export const admin = (env: Readonly<Record<string, string>>, ...argv: readonly string[]) =>
  marketSignal(env, "admin", ...argv);

/** Runs `market-signal` in a process of its own. @returns Exit code and what it said. */
export function marketSignal(
  env: Readonly<Record<string, string>>,
  ...argv: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly error: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [PROGRAM, ...argv],
      { env: { PATH: process.env.PATH ?? "", ...env } },
      (failure, out, error) => resolve({ code: Number(failure?.code ?? 0), out, error }),
    );
  });
}

/** Makes a key with scopes, as the operator does. */
export async function newKey(env: Readonly<Record<string, string>>, scopes: string) {
  const { out } = await admin(env, "key", "create", "--name", "Test", "--scopes", scopes, "--json");
  return (JSON.parse(out) as { readonly key: string }).key;
}
