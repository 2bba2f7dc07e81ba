import { resolve } from "node:path";
import { z } from "zod";
import { factorStatusAnswer } from "../../answers/why.ts";
import { FACTORS } from "../../factors/reading.ts";
import { type FolderEvidence, folderEvidence } from "../../research/folder-evidence.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import { checkMarketFolder, type FolderCheck } from "../../sources/files/check-folder.ts";
import { MIN_PEER_GROUP_SIZE } from "../../statistics/ecdf.ts";
import { defineLocalCommand } from "../command.ts";
import { formatCount } from "../format.ts";

/** Maximum number of refused rows, doubted bars and symbols of a kind that are printed. */
const MAX_SHOWN = 20;

/** Checks a market folder. */
export const checkFolderCommand = defineLocalCommand({
  summary: "Checks a market folder: what is in it, what is refused, and the evidence it gives.",
  notes: [
    "docs/market-folder.md describes the files. Ends with 1 when a row or a file is refused, since the",
    "service does not start on it. The evidence is that of the newest bar. --json lists all symbols.",
  ],
  operands: { folder: z.string("name a market folder").min(1, "is empty") },

  async run({ folder: name }, { folder: base, progress }) {
    const folder = resolve(base, name);
    progress.say("reading the market folder");
    const check = await checkMarketFolder(folder);
    progress.say("scoring its newest bar");
    const evidence = check.market && folderEvidence(check.market);
    const { feeds, refused, doubted, unread } = check;
    const isGood = refused.count === 0 && feeds.bars.records > 0;
    return {
      isGood,
      lines: [
        ...feedLines(folder, check),
        ...refusedLines(check),
        ...doubtedLines(check),
        ...(unread.length > 0 ? [`Not read, because unknown: ${unread.join(", ")}`] : []),
        ...(evidence ? evidenceLines(evidence) : []),
        isGood
          ? `MARKET=files:${folder} serves it.`
          : refused.count > 0
            ? "The service does not start on it: mend what is refused."
            : "The service has nothing to score: bars/ has no bar.",
      ],
      result: {
        folder,
        isGood,
        feeds,
        refused,
        doubted,
        unread,
        evidenceAt: evidence?.at === undefined ? null : new Date(evidence.at).toISOString(),
        symbols: evidence?.snapshots.map(symbolFacts) ?? [],
      },
      notes: isThin(evidence)
        ? [
            `insufficient_data: the history is too short, or fewer than ${MIN_PEER_GROUP_SIZE} instruments of a class can be compared. docs/market-folder.md says what each factor needs.`,
          ]
        : [],
    };
  },
});

function feedLines(folder: string, { market, feeds }: FolderCheck): readonly string[] {
  const all = market?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
  const total = all.length;
  return [
    `${folder}: ${formatCount(total)} ${total === 1 ? "instrument" : "instruments"}`,
    ...Object.entries(feeds).map(([name, { instruments, records, from, to }]) => {
      const start = `  ${name.padEnd(13)}`;
      if (records === 0) return `${start}none${name === "bars" ? "" : " (optional)"}`;
      const of = `of ${formatCount(instruments)} of ${formatCount(total)} instruments`;
      return `${start}${formatCount(records)} records ${of}, ${from} to ${to}`;
    }),
  ];
}

function refusedLines({ refused }: FolderCheck): readonly string[] {
  if (refused.count === 0) return [];
  return [
    `Refused: ${formatCount(refused.count)}`,
    ...shown(refused, ({ file, line, reason, expected }) => {
      const place = line === null ? file : `${file}:${line}`;
      return `${place}: ${reason}: ${expected}`;
    }),
  ];
}

function doubtedLines({ doubted }: FolderCheck): readonly string[] {
  if (doubted.count === 0) return [];
  return [
    `Doubted bars: ${formatCount(doubted.count)} (a dropped one is in no score)`,
    ...shown(doubted, ({ symbol, session, detail, outcome }) => {
      return `${symbol} ${session} ${outcome}: ${detail}`;
    }),
  ];
}

/** The first items of a list as indented lines, and how many more there are. */
function shown<T>(
  { count, listed }: { readonly count: number; readonly listed: readonly T[] },
  textOf: (item: T) => string,
): readonly string[] {
  const lines = listed.slice(0, MAX_SHOWN).map((item) => `  ${textOf(item)}`);
  return count > lines.length
    ? [...lines, `  and ${formatCount(count - lines.length)} more`]
    : lines;
}

const symbolFacts = ({ instrument, status, factors }: Snapshot) => ({
  symbol: instrument.symbol,
  assetClass: instrument.assetClass,
  status,
  evidence: Object.fromEntries(
    FACTORS.map((factor) => [factor, factorStatusAnswer(factors[factor])]),
  ),
});

function evidenceLines({ at, snapshots }: FolderEvidence): readonly string[] {
  if (at === undefined) return [];
  const groups = Map.groupBy(snapshots.map(symbolFacts), ({ assetClass, evidence }) =>
    [assetClass, ...FACTORS.map((factor) => `${factor} ${evidence[factor]}`)].join(", "),
  );
  return [
    `Evidence at the newest bar, ${new Date(at).toISOString()}:`,
    ...[...groups].map(([words, of]) => {
      const symbols = of.slice(0, MAX_SHOWN).map(({ symbol }) => symbol);
      const more = of.length - symbols.length;
      return `  ${words}: ${symbols.join(" ")}${more > 0 ? ` and ${formatCount(more)} more` : ""}`;
    }),
  ];
}

const isThin = (evidence: FolderEvidence | undefined): boolean =>
  evidence?.snapshots.some(({ factors }) =>
    FACTORS.some((factor) => factors[factor].status === "insufficient_data"),
  ) ?? false;
