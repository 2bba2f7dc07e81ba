import { count, day, number } from "../form.ts";
import type { Answer, Task, Truth } from "../task.ts";

const daysOf = async (truth: Truth, symbol: string) =>
  (await truth.get(`/api/darkpool?symbol=${symbol}&view=days&detail=full&limit=60`)).days;

/** All off-exchange trades of one view, newest first. */
async function tradesOf(truth: Truth, symbol: string, view: "prints" | "blocks") {
  const trades: Answer["prints"][number][] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page = await truth.get(
      `/api/darkpool?symbol=${symbol}&view=${view}&detail=full&limit=500${next}`,
    );
    trades.push(...page.prints);
    cursor = page.nextCursor;
  }
  return trades;
}

/** Tasks about off-exchange trading. */
export const darkPool: readonly Task[] = [
  {
    kind: "dark pool",
    everyday: "off-exchange share",
    question:
      "What part of the trading volume of ALDER.SIM was off-exchange in its newest session, as a fraction?",
    form: number(4),
    solution: [["get_darkpool", { symbol: "ALDER.SIM", view: "days", limit: 1 }]],
    answer: ([{ days }]) => days[0]?.shareOfVolume ?? "",
    async expected(truth) {
      const { factors } = await truth.get("/api/factors?symbol=ALDER.SIM&detail=full");
      const { inputs } = factors.darkpool;
      return inputs.find(({ name }) => name === "offExchangeShare")?.value ?? "";
    },
  },
  {
    kind: "dark pool",
    question: "How many off-exchange blocks of CIRRO.SIM were there in its last 20 sessions?",
    form: count,
    solution: [["get_darkpool", { symbol: "CIRRO.SIM" }]],
    answer: ([{ summary }]) => summary.blocks ?? "",
    async expected(truth) {
      const days = (await daysOf(truth, "CIRRO.SIM")).slice(0, 20);
      return days.reduce((sum, { blocks }) => sum + (blocks ?? 0), 0);
    },
  },
  {
    kind: "dark pool",
    question:
      "How many shares changed hands in the most valuable single off-exchange trade of DATUL.SIM in the last 20 sessions?",
    form: count,
    solution: [["get_darkpool", { symbol: "DATUL.SIM" }]],
    answer: ([{ summary }]) => summary.largestPrints[0]?.sizeShares ?? "",
    async expected(truth) {
      const first = (await daysOf(truth, "DATUL.SIM"))[19]?.session ?? "";
      const trades = await tradesOf(truth, "DATUL.SIM", "prints");
      const recent = trades.filter(({ tradedAt, canceled }) => tradedAt >= first && !canceled);
      const value = (one: { price: number; sizeShares: number }) => one.price * one.sizeShares;
      return recent.toSorted((a, b) => value(b) - value(a))[0]?.sizeShares ?? "";
    },
  },
  {
    kind: "dark pool",
    question:
      "Which fraction of the off-exchange volume of FENLO.SIM was sold short, in the newest session that is known?",
    form: number(4),
    solution: [["get_darkpool", { symbol: "FENLO.SIM" }]],
    answer: ([{ summary }]) => summary.shortVolumeRatio ?? "",
    async expected(truth) {
      const days = await daysOf(truth, "FENLO.SIM");
      return days.find(({ shortVolumeRatio }) => shortVolumeRatio !== null)?.shortVolumeRatio ?? "";
    },
  },
  {
    kind: "dark pool",
    question:
      "On which day of its last ten sessions did the largest part of the volume of REMDA.SIM trade off-exchange?",
    form: day,
    solution: [["get_darkpool", { symbol: "REMDA.SIM", view: "days", limit: 10 }]],
    answer: ([{ days }]) => largest(days),
    expected: async (truth) => largest((await daysOf(truth, "REMDA.SIM")).slice(0, 10)),
  },
  {
    kind: "dark pool",
    market: "recorded",
    question: "What was the short volume ratio of ACME on 10 February 2014?",
    form: number(4),
    solution: [["get_darkpool", { symbol: "ACME", view: "days", limit: 60 }]],
    answer: ([{ days }]) =>
      days.find(({ session }) => session === "2014-02-10")?.shortVolumeRatio ?? "",
    async expected(truth) {
      const { summary } = await truth.get(
        "/api/darkpool?symbol=ACME&detail=full&from=2014-02-10T12:00:00Z&to=2014-02-10T23:00:00Z",
      );
      return summary.shortVolumeRatio ?? "";
    },
  },
  {
    kind: "dark pool",
    question:
      "Since the beginning of November 2026, how many off-exchange blocks of ELVEX.SIM were worth at least 1 million USD each?",
    form: count,
    solution: [
      [
        "get_darkpool",
        {
          symbol: "ELVEX.SIM",
          view: "blocks",
          from: "2026-11-01T00:00:00Z",
          minNotionalUsd: 1_000_000,
          limit: 500,
        },
      ],
    ],
    answer: ([{ prints }]) => prints.length,
    async expected(truth) {
      const blocks = await tradesOf(truth, "ELVEX.SIM", "blocks");
      return blocks.filter(
        ({ tradedAt, price, sizeShares }) =>
          tradedAt >= "2026-11-01" && price * sizeShares >= 1_000_000,
      ).length;
    },
  },
];

/** Date of the session with the largest off-exchange share of the volume. */
const largest = (
  days: readonly { readonly session: string; readonly shareOfVolume: number | null }[],
): string =>
  days
    .toSorted((a, b) => (b.shareOfVolume ?? 0) - (a.shareOfVolume ?? 0))[0]
    ?.session.slice(0, 10) ?? "";
