import { choice, count, day, number, numbers, set, symbol } from "../form.ts";
import { type Answer, type Factor, full, pointsOf, ranked, symbolsOf, type Task } from "../task.ts";

const direction = choice("LONG", "SHORT", "WAIT");
const FACTORS = ["momentum", "valuation", "social", "darkpool"] as const satisfies Factor[];
const factor = choice(...FACTORS);
const yesNo = choice("YES", "NO");

const why = async (truth: Parameters<typeof full>[0], of: string, more = "") =>
  (await full(truth, of, more)).why;

/** The factor with the largest value of `figure`. */
const strongest = (figure: (name: Factor) => number): Factor =>
  FACTORS.toSorted((a, b) => figure(b) - figure(a))[0] as Factor;

/** The date in the label of a session. */
const dateOf = (session = ""): string => session.slice(0, 10);

const past: readonly Task[] = [
  {
    kind: "past",
    everyday: "a past day",
    question: "What score did FENLO.SIM have on 18 November 2026?",
    form: count,
    solution: [["get_signal", { symbol: "FENLO.SIM", asOf: "2026-11-18" }]],
    answer: ([{ score }]) => score,
    async expected(truth) {
      const { history } = await full(truth, "FENLO.SIM", "&last=30");
      return history.score[history.session.findIndex((at) => dateOf(at) === "2026-11-18")] ?? "";
    },
  },
  {
    kind: "past",
    everyday: "picture on a day",
    question:
      "How did the whole market look on 16 November 2026: how many stood at LONG, how many at WAIT, how many at SHORT? Leave out those without enough data.",
    form: numbers("the three counts in that order", 0),
    solution: [["get_signal", { asOf: "2026-11-16", limit: 0 }]],
    answer: ([{ counts }]) => [counts.LONG, counts.WAIT, counts.SHORT],
    async expected(truth) {
      const all = await truth.all("2026-11-16");
      const measured = all.filter(({ status }) => status !== "insufficient_data");
      return ["LONG", "WAIT", "SHORT"].map(
        (name) => measured.filter(({ signal }) => signal === name).length,
      );
    },
  },
  {
    kind: "past",
    market: "recorded",
    question: "What did the score of ACME say on 15 January 2014, in whole points?",
    form: count,
    solution: [["get_signal", { symbol: "ACME", asOf: "2014-01-15" }]],
    answer: ([{ score }]) => score,
    async expected(truth) {
      const { history } = await full(truth, "ACME", "&from=2014-01-01");
      return history.score[history.session.indexOf("2014-01-15")] ?? "";
    },
  },
  {
    kind: "past",
    market: "recorded",
    question: "Which signal did the Broad Market Fund have at the end of 2013?",
    form: direction,
    solution: [
      ["find_instruments", { query: "Broad" }],
      ["get_signal", ([{ items }]) => ({ symbol: items[0]?.symbol, asOf: "2013-12-31" })],
    ],
    answer: ([, { signal }]) => signal,
    expected: async (truth) =>
      (await full(truth, "FUND", "&to=2013-12-31")).history.signal.at(-1) ?? "",
  },
  {
    kind: "past",
    market: "recorded",
    question: "What was the price of the coin COIN-USD at the end of 30 November 2013?",
    form: number(2),
    solution: [["get_signal", { symbol: "COIN-USD", asOf: "2013-11-30" }]],
    answer: ([{ price }]) => price.value,
    async expected(truth) {
      const { history } = await full(truth, "COIN-USD", "&from=2013-11-01&to=2013-12-10");
      return history.price[history.session.indexOf("2013-11-30")] ?? "";
    },
  },
  {
    kind: "past",
    question: "Which stock had the highest score on 10 November 2026?",
    form: symbol,
    solution: [
      ["get_signal", { assetClass: "stock", asOf: "2026-11-10", sort: "score", limit: 1 }],
    ],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    async expected(truth) {
      const all = await truth.all("2026-11-10");
      const stocks = all.filter(({ assetClass }) => assetClass === "stock");
      return ranked(stocks, ({ scoreRaw }) => scoreRaw)[0]?.symbol ?? "";
    },
  },
  {
    kind: "past",
    question:
      "How many standard deviations from normal was the momentum evidence for ALDER.SIM on 17 November 2026?",
    form: number(2),
    solution: [["get_factors", { symbol: "ALDER.SIM", asOf: "2026-11-17" }]],
    answer: ([{ factors }]) => factors.momentum.z ?? "",
    async expected(truth) {
      const { factors } = await truth.get(
        "/api/factors?symbol=ALDER.SIM&detail=full&asOf=2026-11-18T00:00:00Z",
      );
      return factors.momentum.z ?? "";
    },
  },
];

const twoFactors: readonly Task[] = [
  {
    kind: "two factors",
    everyday: "two factors compared",
    question: "Which speaks more for ALDER.SIM at the moment, its momentum or its valuation?",
    form: choice("momentum", "valuation"),
    solution: [["get_signal", { symbol: "ALDER.SIM" }]],
    answer: ([answer]) => larger(answer),
    async expected(truth) {
      const { factors } = await truth.get("/api/factors?symbol=ALDER.SIM&detail=full");
      const { momentum, valuation } = factors;
      return momentum.contribution > valuation.contribution ? "momentum" : "valuation";
    },
  },
  {
    kind: "two factors",
    question:
      "Do the social evidence and the dark pool evidence on CIRRO.SIM point the same way, both up or both down?",
    form: yesNo,
    solution: [["get_signal", { symbol: "CIRRO.SIM" }]],
    answer: ([{ why }]) => (pointsOf(why.social) * pointsOf(why.darkpool) > 0 ? "YES" : "NO"),
    async expected(truth) {
      const { factors } = await truth.get("/api/factors?symbol=CIRRO.SIM&detail=full");
      const { social, darkpool } = factors;
      return social.contribution * darkpool.contribution > 0 ? "YES" : "NO";
    },
  },
  {
    kind: "two factors",
    question: "How many points more does momentum give GRIDA.SIM than the dark pool evidence does?",
    form: number(2),
    solution: [["get_signal", { symbol: "GRIDA.SIM" }]],
    answer: ([{ why }]) => pointsOf(why.momentum) - pointsOf(why.darkpool),
    async expected(truth) {
      const { factors } = await truth.get("/api/factors?symbol=GRIDA.SIM&detail=full");
      return factors.momentum.contribution - factors.darkpool.contribution;
    },
  },
  {
    kind: "two factors",
    question:
      "Which factor moves the score of REMDA.SIM away from 50 the most, in either direction?",
    form: factor,
    solution: [["get_signal", { symbol: "REMDA.SIM" }]],
    answer: ([{ why }]) => strongest((name) => Math.abs(pointsOf(why[name]))),
    async expected(truth) {
      const { factors } = await truth.get("/api/factors?symbol=REMDA.SIM&detail=full");
      return strongest((name) => Math.abs(factors[name].contribution));
    },
  },
];

const larger = ({ why }: Answer): Factor =>
  pointsOf(why.momentum) > pointsOf(why.valuation) ? "momentum" : "valuation";

const difference: readonly Task[] = [
  {
    kind: "difference",
    everyday: "a difference",
    question:
      "By how many points did the score of QUILM.SIM change from 10 November 2026 to 20 November 2026? A fall is negative; do not round the scores to whole points first.",
    form: number(2),
    solution: [["get_signal", { symbol: "QUILM.SIM", since: "2026-11-10", asOf: "2026-11-20" }]],
    answer: ([{ attribution }]) => attribution.change,
    async expected(truth) {
      const [before, after] = [
        await full(truth, "QUILM.SIM", "&asOf=2026-11-10"),
        await full(truth, "QUILM.SIM", "&asOf=2026-11-20"),
      ];
      return after.scoreRaw - before.scoreRaw;
    },
  },
  {
    kind: "difference",
    everyday: "why did it change",
    question:
      "Why is the score of VERLA.SIM on 20 November 2026 not what it was on 13 November 2026: which factor changed its points the most, up or down?",
    form: factor,
    solution: [["get_signal", { symbol: "VERLA.SIM", since: "2026-11-13", asOf: "2026-11-20" }]],
    answer: ([{ attribution }]) => strongest((name) => Math.abs(attribution.factors[name].change)),
    async expected(truth) {
      const before = await why(truth, "VERLA.SIM", "&asOf=2026-11-13");
      const after = await why(truth, "VERLA.SIM", "&asOf=2026-11-20");
      return strongest((name) => Math.abs(pointsOf(after[name]) - pointsOf(before[name])));
    },
  },
  {
    kind: "difference",
    market: "recorded",
    question:
      "By how many percent did the price of the Broad Market Fund (FUND) change from 31 December 2013 to 31 January 2014? A fall is negative.",
    form: number(2),
    solution: [
      ["get_signal", { symbol: "FUND", asOf: "2013-12-31" }],
      ["get_signal", { symbol: "FUND", asOf: "2014-01-31" }],
    ],
    answer: ([before, after]) => 100 * (after.price.value / before.price.value - 1),
    async expected(truth) {
      const { history } = await full(truth, "FUND", "&from=2013-12-01&to=2014-01-31");
      const first = history.price[history.session.indexOf("2013-12-31")] ?? 0;
      return 100 * ((history.price.at(-1) ?? 0) / first - 1);
    },
  },
  {
    kind: "difference",
    question:
      "Whose score rose more, or fell less, from 12 November 2026 to 19 November 2026: that of ANVLO.SIM or that of BRIKT.SIM?",
    form: symbol,
    solution: [
      ["get_signal", { symbol: "ANVLO.SIM", since: "2026-11-12", asOf: "2026-11-19" }],
      ["get_signal", { symbol: "BRIKT.SIM", since: "2026-11-12", asOf: "2026-11-19" }],
    ],
    answer: ([...both]) => ranked(both, ({ attribution }) => attribution.change)[0]?.symbol ?? "",
    async expected(truth) {
      const before = await truth.all("2026-11-12");
      const after = await truth.all("2026-11-19");
      const two = after.filter(({ symbol: one }) => ["ANVLO.SIM", "BRIKT.SIM"].includes(one));
      const earlier = new Map(before.map((item) => [item.symbol, item.scoreRaw]));
      const rise = ranked(two, (item) => (item.scoreRaw ?? 0) - (earlier.get(item.symbol) ?? 0));
      return rise[0]?.symbol ?? "";
    },
  },
  {
    kind: "difference",
    question:
      "Which coins stand at another signal now than on 1 November 2026? Take those that already had one then.",
    form: set("their symbols"),
    solution: [
      ["get_signal", { assetClass: "crypto" }],
      ["get_signal", { assetClass: "crypto", asOf: "2026-11-01" }],
    ],
    answer: ([now, then]) => symbolsOf(changed(now.items, then.items)),
    async expected(truth) {
      const isCoin = ({ assetClass }: { assetClass: string }) => assetClass === "crypto";
      const [now, then] = [await truth.all(), await truth.all("2026-11-01")];
      return symbolsOf(changed(now.filter(isCoin), then.filter(isCoin)));
    },
  },
];

interface Signalled {
  readonly symbol: string;
  readonly signal: string;
}

function changed(now: readonly Signalled[], then: readonly Signalled[]): readonly Signalled[] {
  const before = new Map(then.map((item) => [item.symbol, item.signal]));
  return now.filter((item) => before.has(item.symbol) && before.get(item.symbol) !== item.signal);
}

const history: readonly Task[] = [
  {
    kind: "history",
    question: "What was the highest score of ALDER.SIM in its last 20 sessions?",
    form: count,
    solution: [["get_signal", { symbol: "ALDER.SIM", last: 20 }]],
    answer: ([{ history: rows }]) => Math.max(...rows.score),
    async expected(truth) {
      const { history: rows } = await full(truth, "ALDER.SIM", "&last=60");
      return Math.max(...rows.score.slice(-20));
    },
  },
  {
    kind: "history",
    question:
      "How often did the signal of GLIMO.SIM change from one session to the next within its last 60 sessions?",
    form: count,
    solution: [["get_signal", { symbol: "GLIMO.SIM", last: 60 }]],
    answer: ([{ signals }]) => signals.length - 1,
    async expected(truth) {
      const { history: rows } = await full(truth, "GLIMO.SIM", "&last=90");
      const last = rows.signal.slice(-60);
      return last.filter((one, at) => at > 0 && one !== last[at - 1]).length;
    },
  },
  {
    kind: "history",
    question:
      "On which day of the first half of November 2026 (1 to 15) was the score of MUNCO.SIM lowest?",
    form: day,
    solution: [["get_signal", { symbol: "MUNCO.SIM", from: "2026-11-01", to: "2026-11-15" }]],
    answer: ([{ history: rows }]) =>
      dateOf(rows.session[rows.score.indexOf(Math.min(...rows.score))]),
    async expected(truth) {
      const { history: rows } = await full(truth, "MUNCO.SIM", "&last=60");
      const days = rows.session.map((at, index) => ({ at: dateOf(at), score: rows.score[index] }));
      const half = days.filter(({ at }) => at >= "2026-11-01" && at <= "2026-11-15");
      return half.toSorted((a, b) => (a.score ?? 0) - (b.score ?? 0))[0]?.at ?? "";
    },
  },
  {
    kind: "history",
    market: "recorded",
    question: "On how many sessions of January 2014 did ACME score more than 50?",
    form: count,
    solution: [["get_signal", { symbol: "ACME", from: "2014-01-01", to: "2014-01-31" }]],
    answer: ([{ history: rows }]) => rows.score.filter((score) => score > 50).length,
    async expected(truth) {
      const { history: rows } = await full(truth, "ACME", "&last=60");
      return rows.score.filter((score, at) => rows.session[at]?.startsWith("2014-01") && score > 50)
        .length;
    },
  },
  {
    kind: "history",
    market: "recorded",
    question: "At which lowest daily price did COIN-USD end a day in December 2013?",
    form: number(2),
    solution: [["get_signal", { symbol: "COIN-USD", from: "2013-12-01", to: "2013-12-31" }]],
    answer: ([{ history: rows }]) => Math.min(...rows.price),
    async expected(truth) {
      const { history: rows } = await full(truth, "COIN-USD", "&last=120");
      return Math.min(...rows.price.filter((_, at) => rows.session[at]?.startsWith("2013-12")));
    },
  },
  {
    kind: "history",
    market: "recorded",
    question: "What did the five last sessions of the fund FUND bring: its scores, oldest first?",
    form: numbers("the five scores", 0),
    solution: [["get_signal", { symbol: "FUND", last: 5 }]],
    answer: ([{ history: rows }]) => rows.score,
    expected: async (truth) =>
      (await full(truth, "FUND", "&from=2014-01-01")).history.score.slice(-5),
  },
  {
    kind: "history",
    market: "recorded",
    question:
      "Which was the best single day for the price of ACME in the last 20 sessions, in percent?",
    form: number(2),
    solution: [["get_signal", { symbol: "ACME", last: 20, detail: "full" }]],
    answer: ([{ history: rows }]) => 100 * Math.max(...rows.return),
    async expected(truth) {
      const { history: rows } = await full(truth, "ACME", "&from=2014-01-01");
      const gains = rows.price.map((price, at) => price / (rows.price[at - 1] ?? price) - 1);
      return 100 * Math.max(...gains.slice(-20));
    },
  },
];

/** Tasks about past sessions, and about the factors. */
export const pasts: readonly Task[] = [...past, ...twoFactors, ...difference, ...history];
