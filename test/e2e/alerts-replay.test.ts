// @module-tag full

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, vi } from "vitest";
import { postJson } from "../support/agent.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { type Received, startReceiver } from "../support/receivers.ts";
import { sharedFolder } from "../support/shared.ts";
import { smallMarket } from "../support/small-market.ts";
import { verifies } from "../support/verifies.ts";

vi.setConfig({ testTimeout: 300_000 });

const real = sharedFolder("market", "alerts from a replay of real history");

const run = promisify(execFile);

/** A key that the operator gives out. */
async function keyFor(DATA_DIR: string): Promise<string> {
  const asked = [
    "key",
    "create",
    "--name",
    "replay",
    "--scopes",
    "alerts:write signals:read",
    "--json",
  ];
  const { stdout } = await run(process.execPath, [PROGRAM, "admin", ...asked], {
    env: { PATH: process.env.PATH ?? "", DATA_DIR },
  });
  return (JSON.parse(stdout) as { key: string }).key;
}

/** What of an event's body the promises are about. */
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
  readonly replay: string;
  /** What the alert is on. */
  readonly watched: object;
}

/** Plays history, with an alert, to its end. */
async function play({ folder, replay, watched }: Play) {
  const DATA_DIR = temporaryFolder();
  const { baseUrl, child } = await startProcess({
    ...{ DATA_DIR, MARKET: `files:${folder}`, REPLAY: replay },
    ALLOW_INSECURE_WEBHOOKS: "1",
  });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const headers = { "x-api-key": await keyFor(DATA_DIR) };
  const secrets: string[] = [];
  const verify = ({ body, headers: sent }: Received) =>
    new Webhook(secrets[0] ?? "").verify(body, sent as Record<string, string>);
  const receiver = await startReceiver({ verify });
  const made = await postJson(
    `${baseUrl}/api/alerts`,
    {
      ...watched,
      ...{ scoreMove: 5, volatilityZ: 1.5 },
      delivery: { type: "webhook", url: receiver.url },
    },
    headers,
  );
  expect(made.status, await made.clone().text()).toBe(201);
  secrets.push(((await made.json()) as { secret: string }).secret);

  const hasEnded = () => said.includes("the replay has ended");
  await expect.poll(hasEnded, { timeout: 240_000, interval: 500 }).toBe(true);
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

/** Events that the receiver got, without the challenge. */
const eventsIn = (received: readonly Received[]): readonly Sent[] =>
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
  await expect.poll(kept, { timeout: 30_000 }).toBeGreaterThanOrEqual(atLeast);
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
          // From after the listing of LATE, so that the alert may name it from the first moment.
          replay: "2013-11-12/2014-03-28@6",
          watched: { symbols: ["ACME", "LATE", "FUND", "COIN-USD"] },
        },
        2,
      );
      expectBothTypes(sent);
    },
  );

  it.skipIf(real.isMissing)("works on real history", async () => {
    expectBothTypes(
      await expectAllDelivered(
        {
          folder: real.path,
          replay: "2015-08-17/2015-08-29@1.5",
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
