import { choice, count, dayOrUnknown, number, set, symbol, UNKNOWN, word } from "../form.ts";
import { full, symbolsOf, type Task, type Truth } from "../task.ts";

const wholeOrUnknown = number(0, { orUnknown: true });
const numberOrUnknown = number(2, { orUnknown: true });

/** Reads a figure of an answer; `UNKNOWN` if the service rejected the call. */
async function unlessRefused(
  answer: ReturnType<Truth["get"]>,
  figure: (known: Awaited<ReturnType<Truth["get"]>>) => number | null,
) {
  const known = await answer;
  return known.isError ? UNKNOWN : (figure(known) ?? UNKNOWN);
}

/** Instruments whose symbol, or a word of whose name, begins with the given text. */
const begins = async (truth: Truth, text: string) =>
  (await truth.all()).filter((item) =>
    [item.symbol, ...item.name.split(" ")].some((part) => part.toLowerCase().startsWith(text)),
  );

const ambiguity: readonly Task[] = [
  {
    kind: "ambiguity",
    question:
      "I only remember that the name or the ticker begins with Cr. Which instruments can it have been?",
    form: set("their symbols"),
    solution: [["find_instruments", { query: "cr" }]],
    answer: ([{ items }]) => symbolsOf(items),
    expected: async (truth) => symbolsOf(await begins(truth, "cr")),
  },
  {
    kind: "ambiguity",
    question:
      "My colleague scribbled the ticker ALDE.SIM, perhaps with one letter too few. Which instrument is that?",
    form: symbol,
    solution: [["find_instruments", { query: "ALDE" }]],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    expected: async (truth) => symbolsOf(await begins(truth, "alde"))[0] ?? "",
  },
  {
    kind: "ambiguity",
    question: "How does the coin Drimoth score? Some call it just DRIMO.",
    form: count,
    solution: [["get_signal", { symbol: "DRIMO" }]],
    answer: ([{ score }]) => score,
    expected: async (truth) => (await full(truth, "DRIMO-USD.SIM")).score,
  },
  {
    kind: "ambiguity",
    question:
      "I want the score of Hydro. There is a company with that word in its name; if there are several, take the one whose name comes first in the alphabet.",
    form: count,
    solution: [
      ["find_instruments", { query: "Hydro" }],
      ["get_signal", ([{ items }]) => ({ symbol: items[0]?.symbol })],
    ],
    answer: ([, { score }]) => score,
    async expected(truth) {
      const found = await begins(truth, "hydro");
      return found.toSorted((a, b) => (a.name < b.name ? -1 : 1))[0]?.score ?? "";
    },
  },
];

const refusal: readonly Task[] = [
  {
    kind: "refusal",
    question: "What is the score of Apple (AAPL) here?",
    form: wholeOrUnknown,
    solution: [["get_signal", { symbol: "AAPL" }]],
    answer: ([{ isError, score }]) => (isError ? UNKNOWN : score),
    expected: async (truth) => unlessRefused(full(truth, "AAPL"), ({ score }) => score),
  },
  {
    kind: "refusal",
    question: "What does one Bitcoin cost according to this service?",
    form: numberOrUnknown,
    solution: [["find_instruments", { query: "Bitcoin" }]],
    answer: ([{ items }]) => (items.length === 0 ? UNKNOWN : (items[0]?.symbol ?? "")),
    expected: async (truth) => unlessRefused(full(truth, "BTC-USD"), ({ price }) => price.value),
  },
  {
    kind: "refusal",
    question: "At exactly which price will ALDER.SIM close on 1 December 2026?",
    form: numberOrUnknown,
    solution: [["get_signal", { symbol: "ALDER.SIM", asOf: "2026-12-01" }]],
    answer: ([{ isError, price }]) => (isError ? UNKNOWN : price.value),
    expected: async (truth) =>
      unlessRefused(full(truth, "ALDER.SIM", "&asOf=2026-12-01"), ({ price }) => price.value),
  },
  {
    kind: "refusal",
    question:
      "How likely is it, as a fraction, that ELVEX.SIM will do better than most other stocks?",
    form: numberOrUnknown,
    solution: [["get_signal", { symbol: "ELVEX.SIM", detail: "full" }]],
    answer: ([{ pOutperform }]) => pOutperform ?? UNKNOWN,
    expected: async (truth) =>
      unlessRefused(full(truth, "ELVEX.SIM"), ({ pOutperform }) => pOutperform),
  },
  {
    kind: "refusal",
    question: "What score did SALVO.SIM have on 3 January 2001?",
    form: wholeOrUnknown,
    solution: [["get_signal", { symbol: "SALVO.SIM", asOf: "2001-01-03" }]],
    answer: ([{ isError, score }]) => (isError ? UNKNOWN : score),
    expected: async (truth) =>
      unlessRefused(full(truth, "SALVO.SIM", "&asOf=2001-01-03"), ({ score }) => score),
  },
  {
    kind: "refusal",
    question:
      "What fraction of its own volume did the coin QUILO-USD.SIM trade off-exchange, that is in dark pools, over the last 20 sessions?",
    form: numberOrUnknown,
    solution: [["get_darkpool", { symbol: "QUILO-USD.SIM" }]],
    answer: ([{ summary }]) => summary.shareOfVolume ?? UNKNOWN,
    expected: async (truth) =>
      unlessRefused(
        truth.get("/api/darkpool?symbol=QUILO-USD.SIM&view=days&limit=1"),
        ({ days }) => days[0]?.shareOfVolume ?? null,
      ),
  },
  {
    kind: "refusal",
    question: "How does TONIQ.SIM score? I was told that this service may not know it.",
    form: wholeOrUnknown,
    solution: [["get_signal", { symbol: "TONIQ.SIM" }]],
    answer: ([{ isError, score }]) => (isError ? UNKNOWN : score),
    expected: async (truth) => unlessRefused(full(truth, "TONIQ.SIM"), ({ score }) => score),
  },
  {
    kind: "refusal",
    market: "recorded",
    question: "What is the score of ACME today, in the year 2026?",
    form: wholeOrUnknown,
    solution: [["get_signal", { symbol: "ACME", asOf: "2026-11-20" }]],
    answer: ([{ isError, score }]) => (isError ? UNKNOWN : score),
    expected: async (truth) =>
      unlessRefused(full(truth, "ACME", "&asOf=2026-11-20"), ({ score }) => score),
  },
];

const missing: readonly Task[] = [
  {
    kind: "missing data",
    question:
      "There seem to be no social messages about FLARO.SIM. Is it that nobody watches them (UNWATCHED), that someone watches and found none (SILENT), or are there some after all (PRESENT)?",
    form: choice("UNWATCHED", "SILENT", "PRESENT"),
    solution: [["get_factors", { symbol: "FLARO.SIM" }]],
    answer: ([{ factors }]) => watched(factors.social.status),
    async expected(truth) {
      const { items } = await truth.get("/api/instruments?query=FLARO&detail=full");
      return watched(items[0]?.factors.social);
    },
  },
  {
    kind: "missing data",
    question: "Which of the four factors are missing in the score of ANVLO.SIM?",
    form: set("their names (momentum, valuation, social, darkpool)"),
    solution: [["get_signal", { symbol: "ANVLO.SIM" }]],
    answer: ([{ missingFactors }]) => missingFactors,
    async expected(truth) {
      const { why } = await full(truth, "ANVLO.SIM");
      return Object.entries(why).flatMap(([name, points]) =>
        typeof points === "number" ? [] : name,
      );
    },
  },
  {
    kind: "missing data",
    question:
      "For how many stocks is a factor missing or weak, so that the answer is only partial?",
    form: count,
    solution: [["get_signal", { assetClass: "stock" }]],
    answer: ([{ items }]) => items.filter(({ status }) => status === "partial").length,
    async expected(truth) {
      const stocks = (await truth.all()).filter(({ assetClass }) => assetClass === "stock");
      return stocks.filter(({ status }) => status === "partial").length;
    },
  },
  {
    kind: "missing data",
    market: "recorded",
    question: "Which of the four recorded instruments had no score yet on 1 October 2013?",
    form: set("their symbols"),
    solution: [
      ["find_instruments", {}],
      ["get_signal", { asOf: "2013-10-01" }],
    ],
    answer: ([all, then]) =>
      symbolsOf(all.items).filter((one) => !symbolsOf(then.items).includes(one)),
    async expected(truth) {
      const all = symbolsOf(await truth.all());
      const asked = all.map((one) => full(truth, one, "&asOf=2013-10-01"));
      const then = await Promise.all(asked);
      return all.filter((_, at) => then[at]?.isError);
    },
  },
  {
    kind: "missing data",
    question: "When will DAPLO.SIM file its next quarterly report?",
    form: dayOrUnknown,
    solution: [["get_signal", { symbol: "DAPLO.SIM" }]],
    answer: ([{ nextReport }]) => nextReport?.expected.slice(0, 10) ?? UNKNOWN,
    async expected(truth) {
      const { items } = await truth.get("/api/instruments?query=DAPLO&detail=full");
      return items[0]?.nextReport?.expected.slice(0, 10) ?? UNKNOWN;
    },
  },
  {
    kind: "missing data",
    question:
      "Why is there no dark pool evidence on SALVO.SIM? Give the service's own word for the status of that factor.",
    form: word("Answer with that word alone."),
    solution: [["get_factors", { symbol: "SALVO.SIM" }]],
    answer: ([{ factors }]) => factors.darkpool.status,
    async expected(truth) {
      const { items } = await truth.get("/api/instruments?query=SALVO&detail=full");
      return items[0]?.factors.darkpool ?? "";
    },
  },
];

function watched(status: string | undefined): string {
  if (status === "no_feed") return "UNWATCHED";
  return status === "no_activity" ? "SILENT" : "PRESENT";
}

/** Tasks that are ambiguous, that cannot be solved, or whose data is missing. */
export const gaps: readonly Task[] = [...ambiguity, ...refusal, ...missing];
