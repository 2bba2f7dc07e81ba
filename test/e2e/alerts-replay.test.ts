// @module-tag full

import { once } from "node:events";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, vi } from "vitest";
import { newKey } from "../support/admin.ts";
import { postJson } from "../support/agent.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { type ReceivedRequest, startReceiver } from "../support/receivers.ts";
import { sharedFolder } from "../support/shared.ts";
import { smallMarket } from "../support/small-market.ts";
import { verifies } from "../support/verifies.ts";

vi.setConfig({ testTimeout: 600_000 });

const real = sharedFolder("market", "alerts from a replay of real history");

/** The members of an event body that the tests check. */
interface Sent {
  readonly type: string;
  readonly data: {
    readonly symbol: string;
    readonly sequence: number;
    readonly eventId: string;
    readonly market: string;
    readonly asOf: string;
  };
}

interface Page {
  readonly events: readonly Sent[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

interface Play {
  readonly folder: string;
  /** The period of the replay, as two ISO dates. */
  readonly span: string;
  readonly daysPerSecond: number;
  /** The filter of the alert. */
  readonly watched: object;
}

/** Replays history to its end, with an alert that exists from the start. */
async function play({ folder, span, daysPerSecond, watched }: Play) {
  const DATA_DIR = temporaryFolder();
  const start = (speed: number) =>
    startProcess({
      ...{ DATA_DIR, MARKET: `files:${folder}`, REPLAY: `${span}@${speed}` },
      ALLOW_INSECURE_WEBHOOKS: "1",
    });
  // A replay this slow practically stands still while the alert is being created.
  const still = await start(0.00001);
  const key = await newKey({ DATA_DIR }, "alerts:write signals:read");
  const headers = { "x-api-key": key };
  const secrets: string[] = [];
  const verify = ({ body, headers: sent }: ReceivedRequest) =>
    new Webhook(secrets[0] ?? "").verify(body, sent as Record<string, string>);
  const receiver = await startReceiver({ verify });
  const made = await postJson(
    `${still.baseUrl}/api/alerts`,
    {
      ...watched,
      ...{ scoreMove: 5, volatilityZ: 1.5 },
      delivery: { type: "webhook", url: receiver.url },
    },
    headers,
  );
  expect(made.status, await made.clone().text()).toBe(201);
  secrets.push(((await made.json()) as { secret: string }).secret);
  still.child.kill("SIGTERM");
  await once(still.child, "exit");

  const { baseUrl, child } = await start(daysPerSecond);
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const hasEnded = () => said.includes("the replay has ended");
  await expect.poll(hasEnded, { timeout: 480_000, interval: 500 }).toBe(true);
  const all = async (): Promise<readonly Sent[]> => {
    const events: Sent[] = [];
    for (let cursor: string | null = null; ; ) {
      const query = cursor === null ? "" : `&cursor=${cursor}`;
      const answer = await fetch(`${baseUrl}/api/alerts/events?limit=100${query}`, { headers });
      const page = (await answer.json()) as Page;
      events.push(...page.events);
      if (!page.hasMore) return events;
      cursor = page.nextCursor;
    }
  };
  return { receiver, all };
}

/** Parses the events that the receiver got, without the challenge. */
const eventsIn = (received: readonly ReceivedRequest[]): readonly Sent[] =>
  received.map(({ body }) => JSON.parse(body) as Sent).filter(({ data }) => data.symbol);

function expectNoGap(sent: readonly Sent[]): void {
  for (const [symbol, events] of Map.groupBy(sent, ({ data }) => data.symbol)) {
    const numbers = new Set(events.map(({ data }) => data.sequence));
    const wanted = Array.from(numbers, (_, index) => index + 1);
    expect(
      [...numbers].sort((a, b) => a - b),
      symbol,
    ).toEqual(wanted);
  }
}

async function expectAllDelivered(played: Play, atLeast: number) {
  const { receiver, all } = await play(played);
  const kept = async () => (await all()).length;
  await expect.poll(kept, { timeout: 60_000 }).toBeGreaterThanOrEqual(atLeast);
  const here = async () => {
    const ids = new Set(eventsIn(receiver.received).map(({ data }) => data.eventId));
    return (await all()).filter(({ data }) => !ids.has(data.eventId)).length;
  };
  await expect.poll(here, { timeout: 60_000, interval: 500 }).toBe(0);
  const sent = eventsIn(receiver.received);
  expect(receiver.forged).toEqual([]);
  expectNoGap(sent);
  expect(new Set(sent.map(({ data }) => data.market))).toEqual(new Set(["replay"]));
  await receiver.close();
  return sent;
}

describe("a replay of history with an alert", () => {
  verifies(
    ["1/alerts", "6/signal-shift", "6/volatility"],
    "delivers every event to a receiver, verified and numbered without gaps",
    async () => {
      const sent = await expectAllDelivered(
        {
          folder: await smallMarket(),
          // Begins after the listing of LATE, so that the alert can refer to it from the start.
          span: "2013-12-01/2014-02-28",
          daysPerSecond: 12,
          watched: { symbols: ["ACME", "LATE", "FUND", "COIN-USD"] },
        },
        8,
      );
      expectBothTypes(sent);
    },
  );

  it.skipIf(real.isMissing)("emits events on real history", { tags: ["nightly"] }, async () => {
    expectBothTypes(
      await expectAllDelivered(
        {
          folder: real.path,
          span: "2015-08-17/2015-08-29",
          daysPerSecond: 1.5,
          watched: { assetClass: "stock" },
        },
        50,
      ),
    );
  });
});

function expectBothTypes(sent: readonly Sent[]): void {
  const types = new Set(sent.map(({ type }) => type));
  expect(types).toEqual(new Set(["signal.shift", "volatility.alert"]));
}
