import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Scope } from "../../../src/access/scopes.ts";
import { readConfig } from "../../../src/config/config.ts";
import { createToolAnswers } from "../../../src/http/api/answers.ts";
import { parseInput } from "../../../src/http/api/parse.ts";
import { openScoring, type Scoring } from "../../../src/ingest/create.ts";
import { announceObservations } from "../../../src/ingest/follow-observations.ts";
import { persistObservations } from "../../../src/ingest/persist.ts";
import { Problem } from "../../../src/lib/problem.ts";
import type { Observation } from "../../../src/sources/live/provider.ts";
import { coinBarKnownAt } from "../../../src/sources/live/publication-times.ts";
import { transact } from "../../../src/store/transact.ts";
import { createToolContext } from "../../../src/tool/create-context.ts";
import type { Tool, ToolCall, ToolContext } from "../../../src/tool/tool.ts";
import { getSignal } from "../../../tools/get-signal.ts";
import { tools } from "../../../tools/index.ts";
import { temporaryFolder } from "../../support/process.ts";
import { coinDay, utcDays } from "../../support/providers/coins.ts";
import { smallMarket } from "../../support/small-market.ts";
import { model, openStore } from "../../support/stores.ts";

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** A market whose clock the test controls. */
interface World {
  readonly scoring: Scoring;
  readonly clock: { now: number };
  /** Time steps in milliseconds by which the test moves the clock. */
  readonly strides: readonly number[];
  readonly isSlowBack?: true;
  /** Performs the next change of the market data. */
  readonly happen: () => Promise<unknown>;
}

/** Creates a stand-in for a dependency that a shared answer must not use: every access throws. */
const forbidden = <T extends object>(name: string): T =>
  new Proxy({} as T, {
    get(_, member) {
      throw new Error(`a shared answer must not rest on ${name}.${String(member)}`);
    },
  });

const contextOf = (scoring: Scoring): ToolContext =>
  createToolContext(scoring, {
    service: forbidden("alerts"),
    watchlists: forbidden("watchlists"),
    channels: forbidden("channels"),
  });

/** A call from which only the scopes may be read, because shared answers depend on nothing else. */
const callOf = (...scopes: readonly Scope[]): ToolCall =>
  new Proxy({ scopes: new Set(scopes) } as unknown as ToolCall, {
    get(target, member) {
      if (member === "scopes") return target.scopes;
      throw new Error(`a shared answer must not rest on the call.${String(member)}`);
    },
  });

const NOBODY = callOf();

async function open(env: Readonly<Record<string, string>>, start: number): Promise<Opened> {
  const store = await openStore(model);
  store.clock.now = start;
  const scoring = await openScoring({
    settings: readConfig({ DATA_DIR: temporaryFolder(), ...env }),
    now: () => new Date(store.clock.now),
    deriveKey: () => new Uint8Array(32),
    ...{ store, log: pino({ level: "silent" }) },
  });
  onTestFinished(() => scoring.close());
  return { scoring, store, clock: store.clock };
}

interface Opened extends Pick<World, "scoring" | "clock"> {
  readonly store: Awaited<ReturnType<typeof openStore>>;
}

async function sandbox(): Promise<World> {
  const opened = await open({ MARKET: "sandbox" }, Date.parse("2026-11-21T05:00:30Z"));
  return { ...opened, isSlowBack: true, strides: [SECOND_MS, 60_000], happen: async () => {} };
}

async function replay(): Promise<World> {
  const env = { MARKET: `files:${await smallMarket()}`, REPLAY: "2014-01-06/2014-02-20@8" };
  const opened = await open(env, Date.parse("2026-11-21T05:00:30Z"));
  opened.scoring.start();
  return { ...opened, strides: [100, 250, SECOND_MS], happen: async () => {} };
}

const COINS = ["BTC-USD", "ETH-USD"];

/**
 * A live market that receives late records, so that a year is rescored in steps during tool calls.
 */
async function live(): Promise<World> {
  const opened = await open(
    { MARKET: "live", UNIVERSE: COINS.join(), PROVIDERS: "coinbase" },
    Date.parse("2026-11-20T12:00:00Z"),
  );
  const { store, clock } = opened;
  const batches = ["2026-11-01/2026-11-19", "2026-09-01/2026-10-31", "2025-07-01/2026-08-31"];
  const happen = async () => {
    const [from = "", to = ""] = batches.shift()?.split("/") ?? [];
    if (from === "") return turn();
    const given = { provider: "coinbase", observedAt: clock.now };
    await persistObservations({ data: daysOf(from, to) }, given, store.archive);
    await transact(store.records, announceObservations);
    await turn();
  };
  await happen();
  while (opened.scoring.snapshots.allNewest().length < COINS.length) {
    clock.now += 5_000;
    opened.scoring.refresh();
    await turn();
  }
  return { ...opened, strides: [SECOND_MS, 6_000, 70_000, DAY_MS / 2], happen };
}

const daysOf = (from: string, to: string): readonly Observation[] =>
  COINS.flatMap((symbol) =>
    utcDays(from, to).map((session) => ({
      ...{ feed: "bars" as const, symbol, at: Date.parse(session), id: session },
      record: {
        ...{ session, availableAt: coinBarKnownAt(session), dividend: 0, split: 1 },
        ...coinDay(symbol, session),
      },
    })),
  );

/** A tool call whose timestamps are given as numbers of time steps (strides) from the present. */
interface Asked {
  readonly tool: Tool;
  readonly symbol: number;
  readonly instant: number;
  readonly form: number;
}

const shared = tools.filter(({ isShared }) => isShared);

const asked: fc.Arbitrary<Asked> = fc.record({
  tool: fc.constantFrom(...shared),
  symbol: fc.nat({ max: 3 }),
  instant: fc.integer({ min: -3, max: 1 }),
  form: fc.nat({ max: 5 }),
});

/** Builds one of the possible inputs of a tool. */
function inputOf({ tool, symbol: place, instant, form }: Asked, world: World): object {
  const { market } = contextOf(world.scoring);
  const symbol = market.instruments()[place]?.symbol ?? "NONE";
  const stride = world.strides[form % world.strides.length] ?? 0;
  const at = new Date(Math.floor(market.now() / stride + instant) * stride).toISOString();
  if (tool.name === "find_instruments")
    return [{}, { query: symbol }, { limit: 2 }][form % 3] ?? {};
  const forms: readonly object[] = [
    { symbol },
    { symbol, asOf: at },
    tool.name === "get_signal" ? {} : { symbol },
    ...(tool.name === "get_factors"
      ? []
      : [
          { symbol, from: at },
          { symbol, to: at, limit: 3 },
        ]),
    tool.name === "get_darkpool" ? { symbol, view: "days", limit: 2 } : { symbol: "NONE" },
  ];
  return forms[form % forms.length] ?? {};
}

/** Returns the text of an answer or of an error. */
async function said(answer: () => Promise<string>): Promise<string> {
  return answer().catch((error) => {
    if (error instanceof Problem) return error.message;
    throw error;
  });
}

type Step =
  | { readonly does: "ask"; readonly what: Asked }
  | { readonly does: "wait"; readonly strides: number; readonly which: number }
  | { readonly does: "refresh" | "happen" | "turn" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: asked.map((what) => ({ does: "ask" as const, what })) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("wait" as const),
      strides: fc.constantFrom(-2, -0.5, 0.2, 0.5, 1, 1, 2),
      which: fc.nat({ max: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ does: "refresh" as const }) },
  { weight: 1, arbitrary: fc.constantFrom({ does: "happen" as const }, { does: "turn" as const }) },
);

interface Question {
  readonly tool: Tool;
  readonly input: object;
}

/**
 * Returns a function that calls a tool with and without the cache, asserts that both answers are
 * equal, and returns whether the cached answer had been given before.
 */
function comparison(context: ToolContext): (question: Question) => Promise<boolean> {
  const answers = createToolAnswers(context);
  const given = new Set<object>();
  return async ({ tool, input }) => {
    let isRemembered = false;
    const kept = async () => {
      const answer = await answers.of(tool, input, NOBODY);
      isRemembered = given.has(answer);
      given.add(answer);
      expect(JSON.stringify(answer.value)).toBe(answer.json);
      return answer.json;
    };
    const fresh = async () =>
      JSON.stringify(await tool.run(parseInput(tool.input, input), context, NOBODY));
    expect(await said(kept), `${tool.name} ${JSON.stringify(input)}`).toBe(await said(fresh));
    return isRemembered;
  };
}

async function happen(one: Exclude<Step, { does: "ask" }>, world: World): Promise<void> {
  if (one.does === "wait") {
    const stride = world.strides[one.which % world.strides.length] ?? 0;
    // Going back in time rebuilds the whole sandbox market, which is slow.
    const strides = world.isSlowBack ? Math.abs(one.strides) : one.strides;
    world.clock.now += Math.round(strides * stride);
  } else if (one.does === "refresh") world.scoring.refresh();
  else if (one.does === "happen") await world.happen();
  else await turn();
}

/**
 * Repeats the last six questions after every step. @returns How many answers came from the cache.
 */
async function walk(world: World, steps: readonly Step[]): Promise<number> {
  const compare = comparison(contextOf(world.scoring));
  const questions: Question[] = [];
  let remembered = 0;
  for (const one of steps) {
    if (one.does === "ask") {
      questions.push({ tool: one.what.tool, input: inputOf(one.what, world) });
    } else await happen(one, world);
    for (const question of questions.slice(-6)) remembered += Number(await compare(question));
  }
  return remembered;
}

describe("the answer cache", () => {
  it.each([
    { name: "the sandbox", newWorld: sandbox, seed: 11, numRuns: 2 },
    { name: "a replay", newWorld: replay, seed: 12, numRuns: 20 },
    { name: "live markets", newWorld: live, seed: 13, numRuns: 40 },
  ])(
    "never returns an answer that differs from a freshly computed answer, in $name",
    async ({ newWorld, seed, numRuns }) => {
      const world = await newWorld();
      let remembered = 0;
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 40 }),
        async (steps) => {
          remembered += await walk(world, steps);
        },
      );
      await fc.assert(property, { seed, numRuns, endOnFailure: true });
      expect(remembered).toBeGreaterThan(50);
    },
  );

  it("is not used for an instant in the future", async () => {
    const { scoring, clock } = await live();
    const compare = comparison(contextOf(scoring));
    const input = { symbol: "BTC-USD", asOf: new Date(clock.now).toISOString() };
    const question = { tool: getSignal, input };
    expect(await compare(question)).toBe(false);
    expect(await compare(question)).toBe(true);
    clock.now -= SECOND_MS;
    expect(await compare(question)).toBe(false);
    clock.now += SECOND_MS;
    expect(await compare(question)).toBe(false);
    expect(await compare(question)).toBe(true);
  });

  it("is shared by equivalent queries, whatever their wording", async () => {
    const { scoring } = await live();
    const answers = createToolAnswers(contextOf(scoring));
    const ask = (input: object) => answers.of(getSignal, input, NOBODY);
    const [page, same, other] = await Promise.all([
      ask({ limit: 50, assetClass: "crypto" }),
      ask({ assetClass: "crypto" }),
      ask({ limit: 49, assetClass: "crypto" }),
    ]);
    expect(await ask({ assetClass: "crypto", limit: 50 })).toBe(
      await ask({ assetClass: "crypto" }),
    );
    expect(page.etag).toBe(same.etag);
    expect(page.etag).toMatch(/^"[\w-]{43}"$/);
    expect(other.json).toBe(page.json);
  });

  it("has separate entries for callers with and without a tool's extra scopes; the entries differ only in the protected members", async () => {
    const { scoring } = await sandbox();
    const answers = createToolAnswers(contextOf(scoring));
    const { symbol } = contextOf(scoring).market.instruments()[0] ?? { symbol: "" };
    const ask = (...scopes: readonly Scope[]) =>
      answers.of(getSignal, Object.freeze({ symbol }), callOf(...scopes));
    const [plain, wide] = await Promise.all([ask("signals:read"), ask("factor:read")]);
    const { why, ...rest } = wide.value as Record<string, unknown>;
    expect(why).toBeTypeOf("object");
    expect(plain.value).toEqual(rest);
    expect(plain.etag).not.toBe(wide.etag);
    expect(await ask("alerts:write")).toBe(await ask());
    expect(await ask("alerts:write", "factor:read")).toBe(await ask("factor:read"));
  });

  it("covers exactly the tools that only read the market", () => {
    expect(shared.map(({ name }) => name)).toEqual([
      "get_signal",
      "get_factors",
      "get_darkpool",
      "find_instruments",
    ]);
    expect(shared.filter(({ effect }) => effect)).toEqual([]);
  });
});
