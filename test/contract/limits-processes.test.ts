import { Client } from "pg";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { newToken, postForm, register } from "../support/agent.ts";
import { bearer } from "../support/alert-events.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";

const START_MS = 60_000;

type Services = readonly [TestService, TestService, TestService];

/** Rate limits, each of which one test exceeds. */
const LIMITS =
  "guesses=3/100000/1000000 calls-unclaimed=30/100000/1000000 submissions=4/100000/1000000";

/**
 * Starts services on one database, one after another, since each start keeps the processor busy.
 */
async function servicesOn(databaseUrl: string): Promise<Services> {
  const env = {
    DATABASE_URL: databaseUrl,
    MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    RATE_LIMITS: `${LOOSE_LIMITS} ${LIMITS}`,
    TRUST_PROXY: "1",
  };
  return [await startTestService(env), await startTestService(env), await startTestService(env)];
}

const statusesOf = async (answers: readonly Promise<Response>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

const post = ({ base }: TestService, path: string, body: object, from: string) =>
  fetch(base + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": from },
    body: JSON.stringify(body),
  });

const contact = (testService: TestService) =>
  post(testService, "/api/contact", { email: "ada@example.com", message: "hello" }, "198.51.100.1");

const onPostgres = describe.skipIf(!postgresAvailable);
onPostgres("limits of three services on PostgreSQL", { tags: ["full"] }, () => {
  let url: string;
  let services: Services;
  beforeAll(async () => {
    url = await createDatabase();
    services = await servicesOn(url);
  }, 3 * START_MS);

  it("all processes together allow as many requests as a single process, however the requests are distributed", async () => {
    const statuses = await statusesOf(
      Array.from({ length: 60 }, (_, at) =>
        post(
          services[at % 3] as TestService,
          "/api/apply",
          { name: "Ada", email: `ada-${at}@example.com` },
          "192.0.2.1",
        ),
      ),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    expect(statuses.filter((status) => status === 429)).toHaveLength(56);
  });

  // When the database takes longer than 250 ms, each process counts alone, and a call in flight may
  // count twice. Exact numbers therefore need an idle machine.
  it("every process rejects calls soon after the shared limit is exceeded", {
    tags: ["nightly"],
  }, async () => {
    const token = await newToken(services[0].base);
    const call = ({ base }: TestService) =>
      fetch(`${base}/api/signals`, { headers: bearer(token) });
    let allowed = 0;
    const refusing = new Set<TestService>();
    while (refusing.size < 3) {
      for (const service of services) {
        if ((await call(service)).status === 200) allowed += 1;
        else refusing.add(service);
      }
    }
    expect(allowed).toBeGreaterThanOrEqual(30);
    // Even if all three processes counted alone, each would allow at most 30 calls.
    expect(allowed).toBeLessThanOrEqual(90);
  });

  it("each process still applies limits while the counter store is down, and never hangs", async () => {
    const [first, second, third] = services;
    expect((await contact(first)).status).toBe(200);

    const client = new Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("begin; lock table market_signal.counter in access exclusive mode");
    // All of these requests are answered while the counter table is locked.
    const statuses: number[] = [];
    for (let at = 0; at < 8; at += 1) statuses.push((await contact(second)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    await client.query("rollback");

    const later: number[] = [];
    for (let at = 0; at < 8; at += 1) later.push((await contact(third)).status);
    expect(later.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
  });

  it("every process locks out an attacker, whichever process received the guesses", async () => {
    const { client_id, client_secret } = await register(services[0].base);
    const ask = ({ base }: TestService, secret: string) =>
      postForm(`${base}/oauth/token`, {
        ...{ grant_type: "client_credentials", client_id, client_secret: secret },
      });
    const guesses = [];
    for (const service of services) guesses.push((await ask(service, "wrong")).status);
    expect(guesses).toEqual([401, 401, 401]);
    for (const service of services) {
      const refused = await ask(service, String(client_secret));
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(890);
    }
  });
});
