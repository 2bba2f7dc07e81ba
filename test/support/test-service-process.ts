import { EventEmitter, once } from "node:events";
import { createPerson, type Person } from "./person.ts";
import { startProcess } from "./process.ts";
import { codesIn, LOOSE_LIMITS } from "./test-service.ts";

/** Starts the service in a child process. People sign in with the codes that the service prints. */
export async function startTestServiceProcess(env: Readonly<Record<string, string>> = {}) {
  const { baseUrl, child } = await startProcess({ RATE_LIMITS: LOOSE_LIMITS, ...env });
  const output = new EventEmitter();
  let printed = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    output.emit("text");
  });

  /** Number of used codes by email address. */
  const used = new Map<string, number>();

  /** Waits for the next code that the service prints for an email address. */
  async function codeOf(email: string): Promise<string> {
    const position = used.get(email) ?? 0;
    used.set(email, position + 1);
    for (;;) {
      const emails = printed.split("There is no mail server for this message:\n");
      const own = emails.filter((text) => text.startsWith(`  To: ${email}\n`));
      const code = own.flatMap(codesIn)[position];
      if (code !== undefined) return code;
      await once(output, "text");
    }
  }

  let people = 0;
  const person = (): Person => {
    people += 1;
    return createPerson({ base: baseUrl, email: `person-${people}@example.com`, codeOf });
  };
  return { baseUrl, person };
}
