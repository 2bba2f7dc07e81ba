import { execFile } from "node:child_process";
import { PROGRAM } from "./program.ts";

/** Runs an `admin` command in a child process. @returns Exit code and output. */
export const admin = (env: Readonly<Record<string, string>>, ...argv: readonly string[]) =>
  marketSignal(env, "admin", ...argv);

/** Runs `market-signal` in a child process. @returns Exit code and output. */
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

/** Creates an API key with scopes through the admin command. */
export async function newKey(env: Readonly<Record<string, string>>, scopes: string) {
  const { out } = await admin(env, "key", "create", "--name", "Test", "--scopes", scopes, "--json");
  return (JSON.parse(out) as { readonly key: string }).key;
}
