import { beforeAll, describe, expect, it } from "vitest";
import { FACTOR_STATUSES, FACTORS } from "../../src/factors/reading.ts";
import { ScoringEngine } from "../../src/score/scoring-engine.ts";
import { SNAPSHOT_STATUSES } from "../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../src/sources/sandbox/sandbox.ts";
import { getWith, newToken } from "../support/agent.ts";
import { allSignals } from "../support/signal-list.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";

import { verifies } from "../support/verifies.ts";

const { base, service, clock } = await startTestService();
const token = await newToken(base, {});

async function read<T>(path: string): Promise<T> {
  const response = await getWith(token, `${base}${path}`);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

interface Signal {
  readonly symbol: string;
  readonly assetClass: string;
  readonly signal: string;
  readonly score: number;
  readonly scoreRaw: number;
  readonly status: string;
  readonly market: string;
  readonly sources: readonly { readonly simulated: boolean }[];
}

interface Factors extends Signal {
  readonly factors: Readonly<
    Record<
      string,
      {
        z: number | null;
        contribution: number;
        status: string;
        confidence: number;
        summary: string;
      }
    >
  >;
}

const signals = await allSignals<Signal>(read);
const all = await Promise.all(
  signals.map(({ symbol }) => read<Factors>(`/api/factors?detail=full&symbol=${symbol}`)),
);

describe("the market of the sandbox", () => {
  verifies(["1/stocks", "1/crypto"], "covers stocks and coins", () => {
    const ofClass = (name: string) => signals.filter(({ assetClass }) => assetClass === name);
    expect(ofClass("stock").length).toBeGreaterThanOrEqual(38);
    expect(ofClass("crypto").length).toBeGreaterThanOrEqual(6);
    expect(signals.every(({ symbol }) => symbol.endsWith(".SIM"))).toBe(true);
  });

  verifies(
    ["1/score", "1/signal", "8/score-range"],
    "gives each instrument one integer score from 0 to 100 and one of three signals",
    () => {
      for (const { symbol, score, scoreRaw, signal } of signals) {
        expect(Number.isInteger(score), symbol).toBe(true);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(100);
        expect(Math.abs(scoreRaw - score)).toBeLessThan(1);
        expect(["LONG", "SHORT", "WAIT"]).toContain(signal);
      }
    },
  );

  verifies(
    ["1/signal-long", "1/signal-short", "1/signal-wait"],
    "shows all three signals at once",
    () => {
      expect(new Set(signals.map(({ signal }) => signal))).toEqual(
        new Set(["LONG", "SHORT", "WAIT"]),
      );
    },
  );

  verifies(
    [
      "1/factors",
      "1/factor-social",
      "1/factor-momentum",
      "1/factor-valuation",
      "1/factor-darkpool",
    ],
    "decomposes every score into four factors whose points add up",
    () => {
      for (const { symbol, scoreRaw, factors } of all) {
        expect(Object.keys(factors)).toEqual([...FACTORS]);
        const points = Object.values(factors).reduce(
          (sum, { contribution }) => sum + contribution,
          0,
        );
        expect(points, symbol).toBeCloseTo(scoreRaw - 50, 1);
      }
      for (const factor of FACTORS) {
        expect(
          all.some(({ factors }) => factors[factor]?.status === "ok"),
          factor,
        ).toBe(true);
      }
    },
  );

  it("never gives a value for a missing factor, and states why the factor is missing", () => {
    for (const { factors } of all) {
      for (const { z, contribution, confidence, status } of Object.values(factors)) {
        if (z !== null) continue;
        expect({ contribution, confidence }).toEqual({ contribution: 0, confidence: 0 });
        expect(status).not.toBe("ok");
      }
    }
  });

  it("in a brief answer, explains a factor in words only if the factor is missing", async () => {
    for (const { symbol, factors } of all) {
      const brief = await read<{
        factors: Readonly<Record<string, { z: number | null; summary?: string }>>;
      }>(`/api/factors?symbol=${symbol}`);
      for (const [name, { z, summary }] of Object.entries(brief.factors)) {
        expect(summary).toEqual(z === null ? factors[name]?.summary : undefined);
      }
    }
    expect(all.some(({ factors }) => factors.valuation?.z === null)).toBe(true);
  });

  it("returns a date only when the query specifies a day, and not when it specifies an instant", async () => {
    const day = "2026-11-21";
    for (const path of [
      "signals?symbol=ALDER.SIM",
      "signals?limit=1",
      "darkpool?symbol=ALDER.SIM",
    ]) {
      expect(await read(`/api/${path}&asOf=${day}`)).toMatchObject({ date: day });
      expect(await read(`/api/${path}&asOf=${day}T04:59:00Z`)).not.toHaveProperty("date");
    }
  });

  it("has a column with the expected date of each company's next report", async () => {
    const { rows } = await read<{ rows: readonly (readonly [string, string | null])[] }>(
      "/api/signals?assetClass=stock&fields=symbol,nextReport&limit=500",
    );
    const { rows: listed } = await read<{ rows: typeof rows }>(
      "/api/instruments?assetClass=stock&fields=symbol,nextReport&limit=500",
    );
    expect(rows).toEqual(listed);
    expect(rows.filter(([, expected]) => expected !== null).length).toBeGreaterThan(20);
  });

  it("marks every answer as simulated", async () => {
    for (const path of [
      "/api/signals?detail=full&limit=1",
      `/api/signals?detail=full&symbol=${signals[0]?.symbol}`,
      `/api/factors?detail=full&symbol=${signals[0]?.symbol}`,
      `/api/darkpool?detail=full&symbol=${signals[0]?.symbol}`,
      "/api/instruments?detail=full&limit=1",
    ]) {
      expect(await read<Signal>(path)).toMatchObject({
        market: "sandbox",
        sources: [{ id: "sandbox", simulated: true }],
        methodVersion: expect.any(String),
      });
    }
  });

  it("paginates without gaps or repeats", async () => {
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = await read<{ items: Signal[]; nextCursor: string | null }>(
        `/api/signals?detail=full&limit=7${cursor}`,
      );
      seen.push(...page.items.map(({ symbol }) => symbol));
      cursor = page.nextCursor === null ? "" : `&cursor=${page.nextCursor}`;
    } while (cursor !== "");
    expect(seen).toEqual(signals.map(({ symbol }) => symbol));
  });

  it("filters by signal, asset class and displayed score", async () => {
    const list = (query: string) =>
      read<{ items: Signal[]; total: number }>(`/api/signals?detail=full&${query}`);
    const { items: long, total } = await list("limit=500&signal=LONG");
    expect(total).toBe(long.length);
    expect(await list("limit=0&signal=LONG")).toMatchObject({ items: [], total });
    expect(await read("/api/instruments?limit=1")).toMatchObject({ total: signals.length });
    expect(long.length).toBeGreaterThan(0);
    expect(long).toEqual(signals.filter(({ signal }) => signal === "LONG"));
    const { items: strong } = await list("limit=500&minScore=60&assetClass=crypto");
    expect(strong).toEqual(
      signals.filter(({ score, assetClass }) => score >= 60 && assetClass === "crypto"),
    );
  });
});

describe("off-exchange prints", () => {
  const stock = "ALDER.SIM";
  interface Prints {
    readonly prints: readonly {
      id: string;
      tradedAt: string;
      block: boolean;
      side: number | null;
      sizeShares: number;
      notionalUsd: number;
    }[];
    readonly nextCursor: string | null;
  }

  verifies(
    "1/darkpool-prints",
    "are listed one by one, newest first, with an estimate of the side",
    async () => {
      const { prints } = await read<Prints>(
        `/api/darkpool?detail=full&symbol=${stock}&view=prints&limit=40`,
      );
      expect(prints).toHaveLength(40);
      const times = prints.map(({ tradedAt }) => tradedAt);
      expect(times).toEqual([...times].sort().reverse());
      expect(prints.some(({ side }) => side !== null && side !== 0)).toBe(true);
      expect(prints.some(({ side }) => side === null)).toBe(true);
    },
  );

  verifies(
    "1/darkpool-blocks",
    "add up to the block aggregates of a range and of a session",
    async () => {
      const { prints: blocks } = await read<Prints>(
        `/api/darkpool?detail=full&symbol=${stock}&view=blocks`,
      );
      expect(blocks.length).toBeGreaterThan(0);
      expect(blocks.every(({ block }) => block)).toBe(true);
      expect(
        blocks.every(
          ({ sizeShares, notionalUsd }) => sizeShares >= 10_000 || notionalUsd >= 200_000,
        ),
      ).toBe(true);

      const { summary } = await read<{ summary: Record<string, number> }>(
        `/api/darkpool?detail=full&symbol=${stock}`,
      );
      const { days } = await read<{ days: Record<string, number>[] }>(
        `/api/darkpool?detail=full&symbol=${stock}&view=days&limit=${summary.sessions}`,
      );
      for (const member of ["prints", "shares", "blocks", "blockShares"]) {
        const total = days.reduce((sum, day) => sum + (day[member] ?? Number.NaN), 0);
        expect(total, member).toBe(summary[member]);
      }
      expect(summary.vwap).toBeCloseTo((summary.notionalUsd ?? 0) / (summary.shares ?? 0), 6);
      expect(summary.shareOfVolume).toBeGreaterThan(0);
      expect(summary.shareOfVolume).toBeLessThan(1);
    },
  );

  it("are null, not zero, for an instrument with short volumes only", async () => {
    const answer = await read<{ days: object[] }>(
      "/api/darkpool?detail=full&symbol=FENLO.SIM&view=days",
    );
    expect(answer).toMatchObject({ feeds: { prints: "no_feed", shortVolume: "ok" } });
    for (const day of answer.days) {
      expect(day).toMatchObject({
        prints: null,
        shares: null,
        shareOfVolume: null,
        shortVolumeRatio: expect.any(Number),
      });
    }
  });

  it("for a time range cover the complete sessions that closed within the range", async () => {
    const range = "from=2026-11-21T04:40:00Z&to=2026-11-21T04:50:00Z";
    const whole = await read<{ days: { session: string }[] }>(
      `/api/darkpool?detail=full&symbol=${stock}&view=days&limit=100`,
    );
    const { days } = await read<typeof whole>(
      `/api/darkpool?detail=full&symbol=${stock}&view=days&${range}`,
    );
    expect(days.map(({ session }) => session)).toContain("2026-11-21T04:45:00.000Z");
    expect(days.length).toBeLessThanOrEqual(11);
    for (const day of days) expect(whole.days).toContainEqual(day);
  });

  it("are null with the status no_feed for an instrument without feeds", async () => {
    const coin = signals.find(({ assetClass }) => assetClass === "crypto");
    const answer = await read<object>(`/api/darkpool?detail=full&symbol=${coin?.symbol}`);
    expect(answer).toMatchObject({
      feeds: { prints: "no_feed", shortVolume: "no_feed" },
      note: expect.stringMatching(/No feed observes them here\.$/),
      summary: { prints: null, vwap: null, shareOfVolume: null },
    });
  });
});

describe("time in the sandbox", () => {
  it("advances the signal without changing recorded values", async () => {
    const path = "/api/factors?detail=full&symbol=ALDER.SIM";
    const before = await read<Factors & { asOf: string }>(path);
    clock.now = new Date(SANDBOX_NOW.getTime() + 60_000);
    service.refresh();
    const after = await read<Factors & { asOf: string }>(path);
    expect(Date.parse(after.asOf) - Date.parse(before.asOf)).toBe(60_000);
    expect(await read(`${path}&asOf=${before.asOf}`)).toEqual(before);
  });

  it("can be any past instant, even between two sessions", async () => {
    const path = "/api/signals?detail=full&symbol=ALDER.SIM";
    const now = clock.now.toISOString();
    // The log entry follows the score of its session with a delay.
    await expect.poll(() => read(path)).toMatchObject({ logged: { index: expect.any(Number) } });
    expect(await read(`${path}&asOf=${now}`)).toEqual(await read(path));
  });

  it("is rejected when it is before the first record or in the future", async () => {
    for (const asOf of ["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"]) {
      const response = await getWith(
        token,
        `${base}/api/signals?detail=full&symbol=ALDER.SIM&asOf=${asOf}`,
      );
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ code: "not_available_then" });
    }
  });
});

describe.each([1, 2, 3])("a sandbox with seed %i over 300 sessions", { tags: ["full"] }, (seed) => {
  const dayMs = 60_000;
  const start = Math.floor(SANDBOX_NOW.getTime() / dayMs) * dayMs;
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(createSandbox({ seed, sessionSeconds: 60 }), archive);
  const shiftedAt: number[] = [];
  const statuses = new Set<string>();
  const factorStatuses = new Set<string>();

  beforeAll(() => {
    let directions = new Map<string, string>();
    for (let session = 0; session < 300; session++) {
      engine.refresh(start + session * dayMs);
      const newest = archive.allNewest();
      for (const { status, factors } of newest) {
        statuses.add(status);
        for (const factor of FACTORS) factorStatuses.add(factors[factor].status);
      }
      const now = new Map(newest.map((s) => [s.instrument.symbol, s.signal.direction]));
      const hasShifted = [...now].some(([symbol, direction]) => {
        const before = directions.get(symbol);
        return before !== undefined && before !== direction;
      });
      if (hasShifted) shiftedAt.push(session);
      directions = now;
    }
  });

  it("shifts at least one signal in any ten sessions", () => {
    const gaps = shiftedAt.map((session, index) => session - (shiftedAt[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(10);
    expect(shiftedAt.at(-1)).toBeGreaterThan(289);
  });

  it("shows every possible status of an answer and of a factor", () => {
    expect([...statuses].sort()).toEqual([...SNAPSHOT_STATUSES].sort());
    expect([...factorStatuses].sort()).toEqual([...FACTOR_STATUSES].sort());
  });
});
