// @module-tag nightly
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { SteadinessReading } from "../../../src/score/steadiness.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";

const history = sharedFolder("market", "steadiness on real history");
const reference = sharedFolder("market-reference", "steadiness beside reference values");
const isMissing = history.isMissing || reference.isMissing;

/** Time to score ten years of 369 stocks on a busy machine. */
const TIMEOUT_MS = 600_000;

/**
 * The reference uses a bar of HUBB that the market folder's own check drops. Within a year of it one
 * stock of this date has the neighboring rank.
 */
const BESIDE_DROPPED_BAR = "2021-05-28 ABBV";

/** A row of the reference: 20 stocks on 30 dates, computed independently. */
interface ReferenceRow {
  /** Date and symbol. */
  readonly key: string;
  readonly riskZ: number;
  readonly steadiness: number;
}

function referenceRows(): readonly ReferenceRow[] {
  const [head = "", ...rows] = readFileSync(join(reference.path, "method2.csv"), "utf8")
    .trim()
    .split("\n");
  const place = (name: string) => head.split(",").indexOf(name);
  const [date, symbol, riskZ, steadiness] = ["date", "symbol", "risk_z", "steadiness"].map(place);
  return rows.map((row) => {
    const cells = row.split(",");
    const cell = (index: number | undefined) => cells[index ?? -1] ?? "";
    return {
      key: `${cell(date)} ${cell(symbol)}`,
      riskZ: Number(cell(riskZ)),
      steadiness: Number(cell(steadiness)),
    };
  });
}

describe.skipIf(isMissing)("steadiness on real history", () => {
  it(
    "equals an independent computation to 1e-6",
    async () => {
      const rows = referenceRows();
      const wanted = new Set(rows.map(({ key }) => key));
      const market = await readMarketFolder(history.path);
      const found = new Map<string, SteadinessReading | undefined>();
      const engine = new ScoringEngine(
        { ...market, servedFrom: () => Date.UTC(2014, 6, 1) },
        {
          clear: () => {},
          setNewest: () => {},
          addClosed({ at, instrument, steadiness }) {
            const key = `${market.sessionAt(at - 1, "stock")} ${instrument.symbol}`;
            if (wanted.has(key)) found.set(key, steadiness);
          },
        },
      );
      engine.refresh(Date.UTC(2024, 7, 7));

      expect(rows.length).toBe(600);
      for (const { key, riskZ, steadiness } of rows) {
        const one = found.get(key);
        if (key === BESIDE_DROPPED_BAR) {
          expect(Math.abs((one?.value ?? 0) - steadiness), key).toBeLessThan(0.5);
          continue;
        }
        expect(Math.abs((one?.riskZ ?? 9) - riskZ), key).toBeLessThan(1e-6);
        expect(Math.abs((one?.value ?? 999) - steadiness), key).toBeLessThan(1e-6);
      }
    },
    TIMEOUT_MS,
  );
});
