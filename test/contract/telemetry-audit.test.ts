import { describe, expect, it } from "vitest";
import { AUDIT_KIND, type AuditEntry } from "../../src/store/audit.ts";
import { schedule, startLoop } from "../../src/store/loop.ts";
import { currentRequestId, underRequestId } from "../../src/telemetry/request-id.ts";
import { postForm, register } from "../support/agent.ts";
import { auditedIn } from "../support/desk.ts";
import { startService } from "../support/service.ts";

const { base, service } = await startService();
const { records, archive } = service.state.store;

/** Rows wait in the outbox until they are in the archive. */
async function audits(): Promise<readonly AuditEntry[]> {
  const waiting = await auditedIn(records);
  const rows = await archive.read(AUDIT_KIND, { order: "oldest", limit: 1_000 });
  return [...rows.map(({ body }) => body as AuditEntry), ...waiting];
}

const refusals = async () => (await audits()).filter(({ action }) => action === "token.refused");

describe("the audit", () => {
  it("has every refused token, with the request, and no name that a stranger made up", async () => {
    const { client_id } = await register(base);
    const ask = (form: Readonly<Record<string, string>>) =>
      postForm(`${base}/oauth/token`, { grant_type: "client_credentials", ...form });
    const wrong = await ask({ client_id, client_secret: "wrong" });
    await ask({ client_id: "planted-name", client_secret: "wrong" });
    const refused = await refusals();
    expect(refused).toContainEqual(
      expect.objectContaining({
        ...{ actor: "anonymous", target: client_id, detail: { error: "invalid_client" } },
        ...{ requestId: wrong.headers.get("x-request-id"), addressHash: expect.any(String) },
      }),
    );
    expect(refused).toContainEqual(expect.objectContaining({ target: "unknown client" }));
    expect(JSON.stringify(await audits())).not.toContain("planted-name");
  });

  it("has no refusal that is about the request and not about who made it", async () => {
    const odd = await postForm(`${base}/oauth/token`, { grant_type: "nonsense" });
    expect(odd.status).toBe(400);
    const requestId = odd.headers.get("x-request-id");
    expect(await refusals()).not.toContainEqual(expect.objectContaining({ requestId }));
  });
});

describe("work that is repeated", () => {
  it("is not the request's that woke it", async () => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    let rounds = 0;
    const step = async () => {
      rounds += 1;
      if (rounds === 2) resolve(currentRequestId());
      return 0;
    };
    const loop = startLoop({
      step,
      everyMs: 60_000,
      onError: (error) => expect.fail(String(error)),
      schedule,
    });
    await new Promise(setImmediate);
    underRequestId("r-1", loop.wake);
    expect(await promise).toBeUndefined();
    expect(rounds).toBe(2);
    await loop.stop();
  });
});
