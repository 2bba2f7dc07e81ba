import { currentRequestId } from "../../src/lib/request-id.ts";
import { MAIL_TOPIC } from "../../src/mail/outbox.ts";
import type { Operation, Records } from "../../src/store/port/records.ts";

/**
 * Runs an action three times. Returns the result of each run with the store operations of its
 * requests, including announcements to the mail worker. Background work of the service belongs to
 * no request and is excluded.
 */
export async function workOf<T>(records: Records, run: () => Promise<T>) {
  const methods = ["get", "list", "commit", "claimDue"] as const;
  const original = Object.fromEntries(methods.map((name) => [name, records[name]]));
  let asked: string[] = [];
  for (const name of methods) {
    const ask = original[name] as (...args: unknown[]) => unknown;
    const noted = (...args: unknown[]) => {
      const [of] = args as [{ readonly name?: string } & readonly Operation[]];
      const steps = name === "commit" ? of.map(({ kind }) => kind).join() : of.name;
      if (currentRequestId() !== undefined) asked.push(`${name} ${steps}`);
      return ask.apply(records, args);
    };
    Object.assign(records, { [name]: noted });
  }
  const unsubscribe = records.onAnnounce(MAIL_TOPIC, () => asked.push("announce mail"));
  const times: { readonly answer: T; readonly work: readonly string[] }[] = [];
  for (let time = 0; time < 3; time += 1) {
    asked = [];
    const answer = await run();
    times.push({ answer, work: asked.toSorted() });
  }
  unsubscribe();
  Object.assign(records, original);
  return times;
}
