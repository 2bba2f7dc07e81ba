import { describe, expect, it } from "vitest";
import { scheduleTimer, startLoop } from "../../src/lib/loop.ts";
import { currentRequestId, runWithRequestId } from "../../src/lib/request-id.ts";
import { AUDIT_KIND, type AuditEntry } from "../../src/store/audit-entry.ts";
import type { Store } from "../../src/store/port/store.ts";
import {
  EXAMPLE_REGISTRATION,
  postForm,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { auditEntriesIn } from "../support/alert-service.ts";
import { sharedTestService, startTestService } from "../support/test-service.ts";

const { base, service } = await startTestService();

/** Returns all audit rows, including those that are still in the outbox and not in the archive. */
async function auditsIn(store: Pick<Store, "records" | "archive">): Promise<readonly AuditEntry[]> {
  const waiting = await auditEntriesIn(store.records);
  const rows = await store.archive.read(AUDIT_KIND, { order: "oldest", limit: 1_000 });
  return [...rows.map(({ body }) => body as AuditEntry), ...waiting];
}

const audits = () => auditsIn(service.state.store);

const refusals = async () => (await audits()).filter(({ action }) => action === "token.refused");

describe("the audit log", () => {
  it("records every rejected token request with its request id, but no names chosen by the caller", async () => {
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

  it("has no row for errors unrelated to authentication", async () => {
    const odd = await postForm(`${base}/oauth/token`, { grant_type: "nonsense" });
    expect(odd.status).toBe(400);
    const requestId = odd.headers.get("x-request-id");
    expect(await refusals()).not.toContainEqual(expect.objectContaining({ requestId }));
  });
});

/**
 * Runs through the life of an unclaimed agent: register, get and revoke a token, update, delete.
 * @returns The statuses.
 */
async function comeAndGo(): Promise<readonly number[]> {
  const client = await register(base);
  const token = await tokenOf(base, client);
  const revoked = await postForm(`${base}/oauth/revoke`, { token });
  const manage = (
    { registration_access_token: held }: RegisteredAgent,
    method: string,
    body = "",
  ) =>
    fetch(client.registration_client_uri, {
      ...{ method, ...(body && { body }) },
      headers: { authorization: `Bearer ${held}`, "content-type": "application/json" },
    });
  const metadata = { ...EXAMPLE_REGISTRATION, client_id: client.client_id };
  const updated = await manage(client, "PUT", JSON.stringify(metadata));
  const removed = await manage((await updated.json()) as RegisteredAgent, "DELETE");
  return [revoked.status, updated.status, removed.status];
}

describe("the audit log of unclaimed agents", () => {
  it("has no rows for their actions, however many agents there are", async () => {
    const before = (await audits()).length;
    for (let agent = 0; agent < 50; agent += 1) expect(await comeAndGo()).toEqual([200, 200, 204]);
    expect((await audits()).length - before).toBe(0);
  });

  it("records with each claim when and how the agent registered", async () => {
    const testService = await sharedTestService();
    const client = (await register(testService.base)) as RegisteredAgent & {
      claim: { code: string };
    };
    const { records: kept, archive: rows } = testService.service.state.store;
    await testService.person().claim(client.client_id, client.claim.code);
    const claimed = await auditsIn({ records: kept, archive: rows });
    expect(claimed.filter(({ action }) => action === "client.claimed")).toContainEqual(
      expect.objectContaining({
        target: client.client_id,
        detail: {
          registeredAt: testService.clock.now.getTime(),
          identityType: "anonymous",
          site: expect.any(String),
        },
      }),
    );
  });
});

describe("a recurring task", () => {
  it("is not part of the trace of the request that started it", async () => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    let rounds = 0;
    const tick = async () => {
      rounds += 1;
      if (rounds === 2) resolve(currentRequestId());
      return 0;
    };
    const loop = startLoop({
      tick,
      everyMs: 60_000,
      onError: (error) => expect.fail(String(error)),
      schedule: scheduleTimer,
    });
    await new Promise(setImmediate);
    runWithRequestId("r-1", loop.wake);
    expect(await promise).toBeUndefined();
    expect(rounds).toBe(2);
    await loop.stop();
  });
});
