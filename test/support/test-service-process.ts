import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createPerson, type Person } from "./person.ts";
import { startProcess, temporaryFolder } from "./process.ts";
import { PROGRAM } from "./program.ts";
import { codesIn, LOOSE_LIMITS } from "./test-service.ts";

const run = promisify(execFile);

/** A letter as the operator sees it. */
interface Shown {
  readonly to: string;
  readonly text: string;
}

/** Starts the service as a process of its own, for people whose mail the operator reads to them. */
export async function startTestServiceProcess(env: Readonly<Record<string, string>> = {}) {
  const DATA_DIR = temporaryFolder();
  const { baseUrl } = await startProcess({ DATA_DIR, RATE_LIMITS: LOOSE_LIMITS, ...env });

  async function codeOf(email: string): Promise<string> {
    const { stdout } = await run(process.execPath, [PROGRAM, "admin", "mail", "--json"], {
      env: { PATH: process.env.PATH ?? "", DATA_DIR },
    });
    const { messages } = JSON.parse(stdout) as { readonly messages: readonly Shown[] };
    const own = messages.filter(({ to }) => to === email);
    return own.flatMap(({ text }) => codesIn(text)).at(-1) ?? "";
  }

  let people = 0;
  const person = (): Person => {
    people += 1;
    return createPerson({ base: baseUrl, email: `person-${people}@example.com`, codeOf });
  };
  return { baseUrl, person };
}
