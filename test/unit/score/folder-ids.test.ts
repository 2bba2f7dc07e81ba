import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { snapshotId } from "../../../src/answers/shared-members.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { atFileEnd } from "../../support/file-end.ts";
import { smallMarket } from "../../support/small-market.ts";

const END = Date.parse("2014-04-01T00:00:00Z");

/** The snapshot id of a session and the figures published under it. */
interface Said {
  readonly at: number;
  readonly id: string;
  readonly figures: string;
}

/**
 * Returns the id and figures of every session by instrument and close, as computed by one process.
 * @param starts Instants at which the process has refreshed before.
 */
async function saidOf(folder: string, starts: readonly number[] = []): Promise<Map<string, Said>> {
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(await readMarketFolder(folder), archive);
  for (const at of [...starts, END]) engine.refresh(at);
  const all = archive
    .allNewest()
    .flatMap(({ instrument: { symbol } }) => [...archive.history(symbol, 0, END)]);
  return new Map(
    all.map((one) => {
      const { at, status, score, confidence, coverage, signal, price, missingFactors } = one;
      const figures = [status, score, confidence, coverage, signal, price, missingFactors];
      const said = { at, id: snapshotId(one), figures: JSON.stringify(figures) };
      return [`${one.instrument.symbol} ${at}`, said] as const;
    }),
  );
}

/** Copies a folder with the lines of one file edited. */
async function folderWith(
  folder: string,
  file: string,
  edit: (lines: readonly string[]) => readonly string[],
): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "folder-ids-"));
  atFileEnd(() => rm(copy, { recursive: true }));
  await cp(folder, copy, { recursive: true });
  const path = join(copy, file);
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  await writeFile(path, `${edit(lines).join("\n")}\n`);
  return copy;
}

const folder = await smallMarket();
const whole = await saidOf(folder);

/** Edits the first line that contains a text. */
const change = (text: string, edit: (line: string) => string) => (lines: readonly string[]) => {
  const at = lines.findIndex((line) => line.includes(text));
  return lines.with(at, edit(lines[at] as string));
};
const without = (text: string) => (lines: readonly string[]) =>
  lines.toSpliced(
    lines.findIndex((line) => line.includes(text)),
    1,
  );
const after = (text: string, line: string) => (lines: readonly string[]) =>
  lines.toSpliced(lines.findIndex((one) => one.includes(text)) + 1, 0, line);
/** Replaces the number in a column. */
const withCell = (column: number, figure: (cell: number) => number) => (line: string) => {
  const cells = line.split(",");
  return cells.with(column, String(figure(Number(cells[column])))).join(",");
};

/**
 * Changes of these kinds affect no figure, because the asset class is too small for valuations and
 * for a turnover-weighted benchmark, and because prints in a folder have no quotes.
 */
const MOVES_NO_FIGURE = ["volume", "filing", "print"];

const BAR = "2013-09-03T20:15Z";
const FILED = "2013-08-10T04:00Z";
it.each([
  [
    "close",
    "bars/ACME.csv",
    change(
      "2013-09-03",
      withCell(4, (close) => close * 1.001),
    ),
    BAR,
  ],
  [
    "volume",
    "bars/FUND.csv",
    change(
      "2013-09-03",
      withCell(5, (volume) => 3 * volume),
    ),
    BAR,
  ],
  [
    "dividend",
    "bars/ACME.csv",
    change(
      "2013-09-03",
      withCell(6, () => 0.5),
    ),
    BAR,
  ],
  [
    "split",
    "bars/ACME.csv",
    change(
      "2013-09-03",
      withCell(7, () => 1.5),
    ),
    BAR,
  ],
  ["bar removed", "bars/FUND.csv", without("2013-09-03"), BAR],
  [
    "close of a coin",
    "bars/COIN-USD.csv",
    change(
      "2013-06-04",
      withCell(4, (close) => close * 1.001),
    ),
    "2013-06-05T00:00Z",
  ],
  [
    "filing",
    "fundamentals/ACME.csv",
    change(
      "netIncome,2013-06-30",
      withCell(3, (income) => 2 * income),
    ),
    FILED,
  ],
  ["filing removed", "fundamentals/ACME.csv", without("equity,2013-06-30"), FILED],
  [
    "filing added",
    "fundamentals/ACME.csv",
    after("equity,2013-06-30", "freeCashFlow,2013-06-30,2013-08-09,1"),
    FILED,
  ],
  [
    "message",
    "mentions/ACME.jsonl",
    change("2014-02-04-1", (line) => line.replace("$ACME", "strong buy $ACME")),
    "2014-02-04T14:10Z",
  ],
  ["message removed", "mentions/ACME.jsonl", without("2014-02-04-1"), "2014-02-04T14:10Z"],
  [
    "print",
    "prints/ACME.csv",
    change(
      "2014-02-04-0",
      withCell(2, (size) => size + 1),
    ),
    "2014-02-04T15:00Z",
  ],
  [
    "print added",
    "prints/ACME.csv",
    after("2014-02-04-0", "2014-02-04T16:00:00Z,50,90000,FINRA,,,more"),
    "2014-02-04T16:00Z",
  ],
  [
    "short volume",
    "offexchange/ACME.csv",
    change(
      "2014-02-04",
      withCell(1, (volume) => volume + 1),
    ),
    "2014-02-04T23:00Z",
  ],
])(
  "a change in the middle of a market folder changes the snapshot ids from its session on, but not before: %s",
  async (what, file, edit, known) => {
    const said = await saidOf(await folderWith(folder, file, edit));
    const from = Date.parse(known);
    let [before, later, others] = [0, 0, 0];
    for (const [session, { at, id, figures }] of whole) {
      const now = said.get(session);
      if (at < from) {
        before++;
        expect(now).toEqual({ at, id, figures });
      } else {
        later++;
        expect(now?.id, session).not.toBe(id);
        if (now?.figures !== figures) others++;
      }
    }
    expect(before).toBeGreaterThan(300);
    expect(later).toBeGreaterThan(100);
    const isMoving = !MOVES_NO_FIGURE.some((one) => what.startsWith(one));
    if (isMoving) expect(others).toBeGreaterThan(0);
  },
);

it("a market folder that ends earlier has the same snapshot ids and figures as the full folder up to that earlier end", async () => {
  const until = (last: string) => (lines: readonly string[]) =>
    lines.filter((line) => !/20\d\d-\d\d-\d\d/.test(line) || dateOf(line) <= last);
  const dateOf = (line: string) => /20\d\d-\d\d-\d\d/.exec(line)?.[0] ?? "";
  let shorter = folder;
  for (const file of [
    "bars/ACME.csv",
    "bars/LATE.csv",
    "bars/FUND.csv",
    "bars/COIN-USD.csv",
    "mentions/ACME.jsonl",
    "prints/ACME.csv",
    "offexchange/ACME.csv",
  ]) {
    shorter = await folderWith(shorter, file, until("2014-02-28"));
  }
  const end = Date.parse("2014-02-28T21:15Z");
  const said = await saidOf(shorter);
  const known = [...whole].filter(([, { at }]) => at <= end);
  expect(known.length).toBeGreaterThan(800);
  for (const [session, one] of known) expect(said.get(session)).toEqual(one);
});

it("a market folder with its rows in another order has the same snapshot ids and figures as the original folder", async () => {
  const turned = ([header, ...rows]: readonly string[]) => [header as string, ...rows.toReversed()];
  let other = folder;
  for (const file of ["instruments.csv", "fundamentals/ACME.csv", "prints/ACME.csv"]) {
    other = await folderWith(other, file, turned);
  }
  other = await folderWith(other, "mentions/ACME.jsonl", (lines) => lines.toReversed());
  expect(await saidOf(other)).toEqual(whole);
});

it.each(["2013-01-02T12:00Z", "2013-09-03T20:15Z", "2014-02-04T15:00:01Z"])(
  "a process that starts at %s and keeps running has the same snapshot ids and figures as a process that starts at the end",
  async (start) => {
    const at = Date.parse(start);
    const starts = [at, at + 1, at + 40 * 86_400_000].filter((one) => one < END);
    const said = await saidOf(folder, starts);
    for (const [session, one] of whole) expect(said.get(session)).toEqual(one);
  },
);
