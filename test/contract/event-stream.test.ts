import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forgetEmail } from "../../src/principals/accounts/forget.ts";
import { postForm, postJson, registerClaimable, tokenOf } from "../support/agent.ts";
import {
  bearer,
  claimedAgent,
  type Headers,
  makeAlert,
  type Watcher,
  watcherIn,
  writeEvents,
} from "../support/alert-events.ts";
import type { OpenStream } from "../support/event-stream.ts";
import type { Person } from "../support/person.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { SANDBOX_NOW, startTestService, type TestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base } = testService;

/**
 * Maximum time in milliseconds for a stream to end with its credential: 1 s plus 1 s of slack for a
 * busy machine.
 */
const WITHIN_MS = 1_000 + 1_000;

/** Performs an action and expects the stream to end as a result. */
async function expectEnd({ ended }: OpenStream, end: () => Promise<unknown>): Promise<void> {
  await end();
  const from = performance.now();
  expect(await ended).toBe("ended");
  expect(performance.now() - from).toBeLessThan(WITHIN_MS);
}

/** Opens an event stream with the given credential headers. Resolves once the stream is open. */
async function opened(headers: Headers, at: TestService = testService): Promise<OpenStream> {
  const stream = await (await watcherIn(at, headers)).open();
  expect(stream.response.status).toBe(200);
  await stream.untilBlock(({ id }) => id !== undefined);
  return stream;
}

/** Submits the form on the account page with a matching action URL. */
async function submits(person: Person, action: RegExp): Promise<void> {
  const { forms } = await person.web.get("/account");
  const form = forms.find((one) => action.test(new URL(one.action).pathname));
  if (form === undefined) throw new Error(`the account page has no form for ${action}`);
  await person.web.submit(form);
}

describe("the event stream ends within a second", () => {
  it("when its token is revoked, while other streams continue", async () => {
    const person = testService.person();
    const [mine, other] = [await person.tokens(), await person.tokens()];
    const stream = await opened(bearer(mine.access_token));
    const stays = await opened(bearer(other.access_token));
    await expectEnd(stream, () => postForm(`${base}/oauth/revoke`, { token: mine.access_token }));
    await makeAlert(testService, bearer(other.access_token));
    const open = await Promise.race([stays.ended, new Promise((r) => setImmediate(r, "open"))]);
    expect(open).toBe("open");
  });

  it("when its client is deleted", async () => {
    const agent = await registerClaimable(testService.base);
    const { access_token } = await testService.person().tokens();
    const claim = { agent_id: agent.client_id, claim_code: agent.claim.code };
    const answer = await postJson(`${testService.base}/oauth/claim`, claim, bearer(access_token));
    const { registration_access_token } = (await answer.json()) as typeof agent;
    await expectEnd(await opened(bearer(await tokenOf(testService.base, agent))), () =>
      fetch(agent.registration_client_uri, {
        method: "DELETE",
        headers: bearer(registration_access_token),
      }),
    );
  });

  it("when the person removes the agent", async () => {
    const person = testService.person();
    const { token } = await claimedAgent(testService, person);
    await expectEnd(await opened(bearer(token)), () => submits(person, /agents\/.*\/remove/));
  });

  it("when the person revokes the access of the application", async () => {
    const person = testService.person();
    const { access_token } = await person.tokens();
    await expectEnd(await opened(bearer(access_token)), () =>
      submits(person, /applications\/.*\/remove/),
    );
  });

  it("when its API key is revoked", async () => {
    const person = testService.person();
    const key = await person.createKey(["alerts:write", "signals:read"]);
    await expectEnd(await opened({ "x-api-key": key }), () => submits(person, /keys\/.*\/revoke/));
  });

  it("when the account is deleted, for streams of the person, the agent and the API key", async () => {
    const person = testService.person();
    const { access_token } = await person.tokens();
    const key = await person.createKey(["alerts:write", "signals:read"]);
    const { token } = await claimedAgent(testService, person);
    const streams = [
      await opened(bearer(access_token)),
      await opened({ "x-api-key": key }),
      await opened(bearer(token)),
    ];
    const { records } = testService.service.state.store;
    const options = { records, now: () => testService.clock.now, counted: {} };
    await forgetEmail(options, person.email);
    await Promise.all(streams.map((stream) => expectEnd(stream, async () => undefined)));
  });

  it("when its token expires, and when the service shuts down", async () => {
    const own = await startTestService();
    const person = own.person();
    const open = async () => opened(bearer((await person.tokens()).access_token), own);
    await expectEnd(await open(), async () => {
      own.clock.now = new Date(SANDBOX_NOW.getTime() + 3_601_000);
    });
    await expectEnd(await open(), async () => own.service.endStreams());
    expect(own.logged).toEqual([]);
  });
});

describe("the event stream", () => {
  it("is rejected before it starts when the credential or a scope is missing", async () => {
    const { access_token } = await testService.person().tokens({ scope: "signals:read" });
    for (const [headers, status] of [
      [{}, 401],
      [bearer(access_token), 403],
    ] as const) {
      const response = await fetch(`${base}/api/alerts/stream`, { headers });
      expect(response.status).toBe(status);
      expect(response.headers.get("content-type")).toContain("application/problem+json");
    }
  });

  it("is rejected, as a page of events is, for a cursor that is no event's", async () => {
    const headers = bearer((await testService.person().tokens()).access_token);
    const url = `${base}/api/alerts/stream`;
    for (const cursor of [
      "",
      "x",
      "v1.",
      "-1",
      "1.5",
      "9".repeat(16),
      "9".repeat(201),
      "1 ",
      "\0",
    ]) {
      const query = `?cursor=${encodeURIComponent(cursor)}`;
      for (const path of ["events", "stream"]) {
        const answer = await fetch(`${base}/api/alerts/${path}${query}`, { headers });
        expect([cursor, path, answer.status]).toEqual([cursor, path, 400]);
        expect(await answer.json()).toMatchObject({
          ...{ code: "invalid_request", detail: expect.stringContaining("cursor") },
        });
      }
      if (!/^\S+$/.test(cursor) || cursor === "\0") continue;
      for (const method of ["GET", "HEAD"]) {
        const resumed = { ...headers, "last-event-id": cursor };
        expect((await fetch(url, { method, headers: resumed })).status).toBe(400);
      }
    }
  });

  it("contains only the caller's own events, in the format of the polling API", async () => {
    const [one, two] = [testService.person(), testService.person()];
    const watchers = [
      await watcherIn(testService, bearer((await one.tokens()).access_token)),
      await watcherIn(testService, bearer((await one.tokens()).access_token)),
      await watcherIn(testService, bearer((await two.tokens()).access_token)),
      await watcherIn(testService, {
        "x-api-key": await one.createKey(["alerts:write", "signals:read"]),
      }),
    ];
    const streams = await Promise.all(watchers.map((watcher) => watcher.open("?cursor=0")));
    for (const [index, watcher] of watchers.entries()) {
      await writeEvents(testService, watcher, Array.from({ length: 4 - index }, nextAt));
    }
    for (const [index, stream] of streams.entries()) {
      await stream.until(4 - index);
      const { headers = {} } = watchers[index] ?? {};
      const polled = await fetch(`${base}/api/alerts/events`, { headers });
      const { events } = (await polled.json()) as { readonly events: { data: object }[] };
      const streamed = stream.blocks.flatMap(({ data }) => (data ? [JSON.parse(data).data] : []));
      expect(streamed).toEqual(events.map(({ data }) => data));
    }
  });

  it("continues from a polling cursor, and its last event id is a valid polling cursor", async () => {
    const { access_token } = await testService.person().tokens();
    const watcher = await watcherIn(testService, bearer(access_token));
    const ats = Array.from({ length: 6 }, nextAt);
    await writeEvents(testService, watcher, ats);
    const whole = await watcher.open("?cursor=0");
    await whole.until(6);
    const polled = await fetch(`${base}/api/alerts/events?limit=2`, { headers: watcher.headers });
    const { nextCursor } = (await polled.json()) as { readonly nextCursor: string };
    const stream = await watcher.open(`?cursor=${encodeURIComponent(nextCursor)}`);
    await stream.until(4);
    expect(stream.ids()).toEqual(ats.slice(2).map(String));
    const rest = await fetch(`${base}/api/alerts/events?cursor=${stream.ids()[1]}`, {
      headers: watcher.headers,
    });
    const { events } = (await rest.json()) as { readonly events: { data: { at: number } }[] };
    expect(events.map(({ data }) => data.at)).toEqual(ats.slice(4));
  });

  it("is limited to five connections per application", async () => {
    const person = testService.person();
    const statusesOf = async (count: number) => {
      const { access_token } = await person.tokens();
      const watcher = await watcherIn(testService, bearer(access_token));
      const statuses: number[] = [];
      while (statuses.length < count) statuses.push((await watcher.open()).response.status);
      return statuses;
    };
    expect(await statusesOf(6)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statusesOf(1)).toEqual([200]);
  });

  it("logs no internal failure", () => {
    expect(testService.logged).toEqual([]);
  });
});

/** Generates increasing instants for the events that a test writes. */
let last = SANDBOX_NOW.getTime();
const nextAt = () => ++last;

/** A write of events, or a fault, while a reader is connected. */
type Step =
  | { readonly is: "written"; readonly sizes: readonly number[] }
  | { readonly is: "reconnected" }
  | { readonly is: "turns"; readonly turns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    is: fc.constant("written" as const),
    sizes: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ is: fc.constant("reconnected" as const) }),
  fc.record({ is: fc.constant("turns" as const), turns: fc.integer({ min: 1, max: 400 }) }),
);

/** A reader that reconnects with the last event id that it received. */
async function createReader(watcher: Watcher) {
  const seen: string[] = [];
  let stream = await watcher.open();
  const { id: start = "" } = await stream.untilBlock(({ id }) => id !== undefined);
  return {
    seen: () => [...seen, ...stream.ids()],
    async reconnect() {
      seen.push(...stream.ids());
      stream.leave();
      do {
        stream = await watcher.open("", { "last-event-id": seen.at(-1) ?? start });
      } while (stream.response.status === 429);
    },
    async until(events: number) {
      await stream.until(events - seen.length);
      stream.leave();
    },
  };
}

/** Writes events while a reader keeps reading, and expects every event to arrive in order. */
async function expectAll(at: TestService, watcher: Watcher, steps: readonly Step[]): Promise<void> {
  const reader = await createReader(watcher);
  const written: number[] = [];
  let writing = Promise.resolve();
  const write = async (size: number) => {
    // Instants increase from commit to commit, as with the leader.
    await writing;
    const ats = Array.from({ length: size }, nextAt);
    written.push(...ats);
    writing = writeEvents(at, watcher, ats);
  };
  for (const one of steps) {
    if (one.is === "reconnected") await reader.reconnect();
    else if (one.is === "turns") await turns(one.turns);
    else for (const size of one.sizes) await write(size);
  }
  await writing;
  await reader.until(written.length);
  expect(reader.seen()).toEqual(written.map(String));
}

const onPostgres = {
  name: postgresAvailable ? "PostgreSQL" : "PostgreSQL SKIPPED: it cannot be started here",
  isMissing: !postgresAvailable,
  tags: ["full" as const],
  open: async () =>
    startTestService({
      DATABASE_URL: await createDatabase(),
      MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
    }),
};

const places = [
  { name: "the embedded store", isMissing: false, tags: [], open: async () => testService },
  onPostgres,
];

for (const { name, isMissing, tags, open } of places) {
  it.skipIf(isMissing)(
    `the stream over ${name} delivers every event in order through reconnects and faults`,
    { tags },
    async () => {
      const at = await open();
      const watcher = await watcherIn(at, bearer((await at.person().tokens()).access_token));
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), (steps) =>
        expectAll(at, watcher, steps),
      );
      await fc.assert(property, { seed: 6, numRuns: 25, endOnFailure: true });
      expect(at.logged).toEqual([]);
    },
  );
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
