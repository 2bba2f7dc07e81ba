import { RISK_LEVELS } from "../../../src/risk/outlook.ts";
import { BACKTEST_VERDICTS } from "../../../src/score/backtest-verdicts.ts";
import { choice, count, day, instant, number, numbers, symbol, word } from "../form.ts";
import { full, mean, pointsOf, ranked, rankedFromLowest, symbolsOf, type Task } from "../task.ts";

const direction = choice("LONG", "SHORT", "WAIT");

/** Tasks that need one call. */
const single: readonly Task[] = [
  {
    kind: "single call",
    question: "What score does Aldermoor Circuits (ALDER.SIM) have right now?",
    form: count,
    solution: [["get_signal", { symbol: "ALDER.SIM" }]],
    answer: ([{ score }]) => score,
    expected: async (truth) => (await full(truth, "ALDER.SIM")).score,
  },
  {
    kind: "single call",
    question: "Does BYTEN.SIM look like a buy, a sell or neither at the moment?",
    form: direction,
    solution: [["get_signal", { symbol: "BYTEN.SIM" }]],
    answer: ([{ signal }]) => signal,
    expected: async (truth) => (await full(truth, "BYTEN.SIM")).signal,
  },
  {
    kind: "single call",
    question: "From which moment on has the present signal of CIRRO.SIM been in force?",
    form: instant,
    solution: [["get_signal", { symbol: "CIRRO.SIM" }]],
    answer: ([{ since }]) => since,
    expected: async (truth) => (await full(truth, "CIRRO.SIM")).since,
  },
  {
    kind: "single call",
    everyday: "freshness",
    question:
      "How fresh is what you know about GRIDA.SIM: up to which moment were data taken into account?",
    form: instant,
    solution: [["get_signal", { symbol: "GRIDA.SIM" }]],
    answer: ([{ asOf }]) => asOf,
    expected: async (truth) => (await full(truth, "GRIDA.SIM")).asOf,
  },
  {
    kind: "single call",
    everyday: "risk range",
    question:
      "Between which two prices should HEXOL.SIM close five trading days from now, with 80 percent probability? Give the lower one first.",
    form: numbers("the two prices in USD", 2),
    solution: [["get_signal", { symbol: "HEXOL.SIM" }]],
    answer: ([{ range80 }]) => range80?.["5"] ?? [],
    async expected(truth) {
      const { risk } = await full(truth, "HEXOL.SIM", "&risk=full");
      const horizon = risk.forecast?.horizons.find(({ sessions }) => sessions === 5);
      const range = horizon?.ranges?.find(({ probability }) => probability === 0.8);
      return range === undefined ? [] : [range.low, range.high];
    },
  },
  {
    kind: "single call",
    everyday: "next report",
    question: "On which day is the next quarterly report of MEDRU.SIM expected?",
    form: day,
    solution: [["get_signal", { symbol: "MEDRU.SIM" }]],
    answer: ([{ nextReport }]) => nextReport?.expected.slice(0, 10) ?? "",
    async expected(truth) {
      const { items } = await truth.get("/api/instruments?query=MEDRU&detail=full");
      return items[0]?.nextReport?.expected.slice(0, 10) ?? "";
    },
  },
  {
    kind: "single call",
    question: "What was the latest price of OSTEL.SIM?",
    form: number(2, { orUnknown: true }),
    solution: [["get_signal", { symbol: "OSTEL.SIM" }]],
    answer: ([{ price }]) => price.value,
    expected: async (truth) =>
      (await full(truth, "OSTEL.SIM", "&last=1")).history.price.at(-1) ?? "",
  },
  {
    kind: "single call",
    question: "How risky is PELVO.SIM now compared with its own past year?",
    form: choice(...RISK_LEVELS),
    solution: [["get_signal", { symbol: "PELVO.SIM", detail: "full" }]],
    answer: ([{ risk }]) => risk.level ?? "",
    expected: async (truth) => (await full(truth, "PELVO.SIM", "&risk=full")).risk.level ?? "",
  },
  {
    kind: "single call",
    question: "What yearly volatility, in percent, is expected of REMDA.SIM?",
    form: number(2, { orUnknown: true }),
    solution: [["get_signal", { symbol: "REMDA.SIM", detail: "full", risk: "full" }]],
    answer: ([{ risk }]) => risk.forecast?.annualVolatilityPercent ?? "",
    expected: async (truth) =>
      (await full(truth, "REMDA.SIM", "&risk=full")).risk.forecast?.annualVolatilityPercent ?? "",
  },
  {
    kind: "single call",
    question:
      "Has it been shown that the signals of coins such as HOLBE-USD.SIM are worth anything? Give the service's own verdict, by its name.",
    form: word(`Answer with one of: ${BACKTEST_VERDICTS.join(", ")}.`),
    solution: [["get_signal", { symbol: "HOLBE-USD.SIM" }]],
    answer: ([{ evidence }]) => evidence.verdict,
    expected: async (truth) => (await full(truth, "HOLBE-USD.SIM")).evidence.verdict,
  },
];

/** Tasks that need several calls, later ones based on earlier answers. */
const several: readonly Task[] = [
  {
    kind: "several calls",
    question: "Which of the two has the higher score now, Brakenfold Foods or Crumostead Bakeries?",
    form: symbol,
    solution: [
      ["find_instruments", { query: "Brakenfold" }],
      ["find_instruments", { query: "Crumostead" }],
      ["get_signal", ([one, other]) => ({ symbols: symbolsOf([...one.items, ...other.items]) })],
    ],
    answer: ([, , { items }]) => ranked(items, ({ score }) => score)[0]?.symbol ?? "",
    async expected(truth) {
      const all = await truth.all();
      const two = all.filter(({ symbol: one }) => ["BRAKN.SIM", "CRUMO.SIM"].includes(one));
      return ranked(two, ({ scoreRaw }) => scoreRaw)[0]?.symbol ?? "";
    },
  },
  {
    kind: "several calls",
    question:
      "How far are the scores of Ironuvale Steel and Ferrulund Rail apart? Take the scores as whole points.",
    form: count,
    solution: [
      ["find_instruments", { query: "Ironuvale" }],
      ["find_instruments", { query: "Ferrulund" }],
      ["get_signal", ([one, other]) => ({ symbols: symbolsOf([...one.items, ...other.items]) })],
    ],
    answer: ([, , { items }]) => Math.abs((items[0]?.score ?? 0) - (items[1]?.score ?? 0)),
    async expected(truth) {
      const [one, other] = [await full(truth, "IRONU.SIM"), await full(truth, "FERRU.SIM")];
      return Math.abs(one.score - other.score);
    },
  },
  {
    kind: "several calls",
    question:
      "Of ALDER.SIM, CIRRO.SIM and DATUL.SIM, which one traded the largest part of its volume away from the exchange over the last 20 sessions?",
    form: symbol,
    solution: ["ALDER.SIM", "CIRRO.SIM", "DATUL.SIM"].map(
      (one) => ["get_darkpool", { symbol: one }] as const,
    ),
    answer: ([...all]) => ranked(all, ({ summary }) => summary.shareOfVolume ?? 0)[0]?.symbol ?? "",
    async expected(truth) {
      const summaries = ["ALDER.SIM", "CIRRO.SIM", "DATUL.SIM"].map((one) =>
        truth.get(`/api/darkpool?symbol=${one}&detail=full`),
      );
      const all = await Promise.all(summaries);
      return ranked(all, ({ summary }) => summary.shareOfVolume ?? 0)[0]?.symbol ?? "";
    },
  },
  {
    kind: "several calls",
    question: "How many points does momentum give to the stock that has the highest score now?",
    form: number(2),
    solution: [
      ["get_signal", { assetClass: "stock", sort: "score", limit: 1 }],
      ["get_signal", ([{ items }]) => ({ symbol: items[0]?.symbol })],
    ],
    answer: ([, { why }]) => pointsOf(why.momentum),
    async expected(truth) {
      const stocks = (await truth.all()).filter(({ assetClass }) => assetClass === "stock");
      const best = ranked(stocks, ({ scoreRaw }) => scoreRaw)[0]?.symbol ?? "";
      const { factors } = await truth.get(`/api/factors?symbol=${best}&detail=full`);
      return factors.momentum.contribution;
    },
  },
  {
    kind: "several calls",
    question:
      "Take the three stocks with the highest scores. Which of them will report its quarter first?",
    form: symbol,
    solution: [
      ["get_signal", { assetClass: "stock", sort: "score", limit: 3 }],
      ...[0, 1, 2].map(
        (at) =>
          ["get_signal", ([{ items }]) => ({ symbol: items[at]?.symbol })] as Task["solution"][0],
      ),
    ],
    answer: ([, one, two, three]) => earliest([one, two, three]),
    async expected(truth) {
      const stocks = (await truth.all()).filter(({ assetClass }) => assetClass === "stock");
      const best = symbolsOf(ranked(stocks, ({ scoreRaw }) => scoreRaw).slice(0, 3));
      const { items } = await truth.get("/api/instruments?detail=full&limit=500");
      return earliest(items.filter(({ symbol: one }) => best.includes(one)));
    },
  },
  {
    kind: "several calls",
    question: "Which score did the coin that has the lowest score now have on 15 November 2026?",
    form: count,
    solution: [
      ["get_signal", { assetClass: "crypto", sort: "lowest_score", limit: 1 }],
      ["get_signal", ([{ items }]) => ({ symbol: items[0]?.symbol, asOf: "2026-11-15" })],
    ],
    answer: ([, { score }]) => score,
    async expected(truth) {
      const coins = (await truth.all()).filter(({ assetClass }) => assetClass === "crypto");
      const lowest = rankedFromLowest(coins)[0]?.symbol;
      const then = await truth.all("2026-11-15");
      return then.find(({ symbol: one }) => one === lowest)?.score ?? "";
    },
  },
  {
    kind: "several calls",
    question:
      "What is on record in the public log as the score of Elvexane Networks after the last session, in whole points?",
    form: count,
    solution: [
      ["find_instruments", { query: "Elvexane" }],
      ["verify_signal", ([{ items }]) => ({ symbol: items[0]?.symbol })],
    ],
    answer: ([, { entry }]) => Number(JSON.parse(entry).score),
    expected: async (truth) => (await full(truth, "ELVEX.SIM")).score,
  },
  {
    kind: "several calls",
    question:
      "What is the average score now of Gustromere Wind, Hydrulane Hydro and Embekton Power, from their scores in whole points?",
    form: number(1),
    solution: [
      ...["Gustromere", "Hydrulane", "Embekton"].map(
        (query) => ["find_instruments", { query }] as const,
      ),
      [
        "get_signal",
        ([one, two, three]) => ({
          symbols: symbolsOf([...one.items, ...two.items, ...three.items]),
        }),
      ],
    ],
    answer: ([, , , { items }]) => mean(items.map(({ score }) => score)),
    async expected(truth) {
      const names = ["GUSTR.SIM", "HYDRU.SIM", "EMBEK.SIM"];
      const three = (await truth.all()).filter(({ symbol: one }) => names.includes(one));
      return mean(three.map(({ score }) => score));
    },
  },
];

/** Symbol of the instrument that reports first. */
const earliest = (
  all: readonly { readonly symbol: string; readonly nextReport: { expected: string } | null }[],
): string =>
  all
    .filter(({ nextReport }) => nextReport !== null)
    .toSorted((a, b) =>
      (a.nextReport?.expected ?? "") < (b.nextReport?.expected ?? "") ? -1 : 1,
    )[0]?.symbol ?? "";

/** Tasks about single instruments that the question names. */
export const lookups: readonly Task[] = [...single, ...several];
