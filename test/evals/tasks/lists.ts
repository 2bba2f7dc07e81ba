import { choice, count, list, number, set, symbol, word } from "../form.ts";
import {
  type Item,
  mean,
  ranked,
  rankedFromLowest,
  symbolsOf,
  type Task,
  type Truth,
} from "../task.ts";

const SECTORS = ["Technology", "Health Care", "Energy", "Industrials", "Consumer Goods"] as const;

const some = async (truth: Truth, isMeant: (item: Item) => boolean) =>
  (await truth.all()).filter(isMeant);
const coins = (truth: Truth) => some(truth, ({ assetClass }) => assetClass === "crypto");
const stocks = (truth: Truth) => some(truth, ({ assetClass }) => assetClass === "stock");
const inSector = (truth: Truth, name: (typeof SECTORS)[number]) =>
  some(truth, ({ sector }) => sector === name);
const byScore = (items: readonly Item[]) => symbolsOf(ranked(items, ({ scoreRaw }) => scoreRaw));
const scores = (items: readonly Item[]) => items.map(({ score }) => score);

const ranking: readonly Task[] = [
  {
    kind: "ranking",
    everyday: "best five",
    question: "Which five stocks or coins score best at the moment? Begin with the best.",
    form: list("the five symbols"),
    solution: [["get_signal", { sort: "score", limit: 5 }]],
    answer: ([{ items }]) => symbolsOf(items),
    expected: async (truth) => byScore(await truth.all()).slice(0, 5),
  },
  {
    kind: "ranking",
    everyday: "ranking",
    question: "Put all coins in order by their scores, from the highest to the lowest.",
    form: list("their symbols"),
    solution: [["get_signal", { assetClass: "crypto", sort: "score" }]],
    answer: ([{ items }]) => symbolsOf(items),
    expected: async (truth) => byScore(await coins(truth)),
  },
  {
    kind: "ranking",
    question: "Which three stocks score worst at the moment? Begin with the worst.",
    form: list("the three symbols"),
    solution: [["get_signal", { assetClass: "stock", sort: "lowest_score", limit: 3 }]],
    answer: ([{ items }]) => symbolsOf(items),
    expected: async (truth) => symbolsOf(rankedFromLowest(await stocks(truth)).slice(0, 3)),
  },
  {
    kind: "ranking",
    question:
      "Which two stocks gained the most score since the close before? Begin with the larger gain.",
    form: list("the two symbols"),
    solution: [["get_signal", { assetClass: "stock", sort: "rise", limit: 2 }]],
    answer: ([{ items }]) => symbolsOf(items),
    expected: async (truth) =>
      symbolsOf(ranked(await stocks(truth), ({ scoreChange }) => scoreChange ?? 0).slice(0, 2)),
  },
  {
    kind: "ranking",
    question: "Whose score has dropped the most since the close before, among stocks and coins?",
    form: symbol,
    solution: [["get_signal", { sort: "fall", limit: 1 }]],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    expected: async (truth) =>
      ranked(await truth.all(), ({ scoreChange }) => -(scoreChange ?? 0))[0]?.symbol ?? "",
  },
  {
    kind: "ranking",
    question: "In whose score does the service have the most confidence right now?",
    form: symbol,
    solution: [["get_signal", { sort: "confidence", limit: 1 }]],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    expected: async (truth) =>
      ranked(await truth.all(), ({ confidence }) => confidence)[0]?.symbol ?? "",
  },
];

const counting: readonly Task[] = [
  {
    kind: "counting",
    everyday: "counting",
    question: "How many of all instruments are on LONG at the moment?",
    form: count,
    solution: [["get_signal", { limit: 0 }]],
    answer: ([{ counts }]) => counts.LONG,
    expected: async (truth) => (await some(truth, ({ signal }) => signal === "LONG")).length,
  },
  {
    kind: "counting",
    question: "How many coins have a score of 50 or more?",
    form: count,
    solution: [["get_signal", { assetClass: "crypto", minScore: 50 }]],
    answer: ([{ items }]) => items.length,
    expected: async (truth) => (await coins(truth)).filter(({ score }) => score >= 50).length,
  },
  {
    kind: "counting",
    question: "How many stocks have a score with a confidence of at least 0.6?",
    form: count,
    solution: [["get_signal", { assetClass: "stock", minConfidence: 0.6 }]],
    answer: ([{ items }]) => items.length,
    expected: async (truth) =>
      (await stocks(truth)).filter(({ confidence }) => confidence >= 0.6).length,
  },
  {
    kind: "counting",
    question: "How many stocks and coins are covered in all?",
    form: count,
    solution: [["find_instruments", { limit: 500 }]],
    answer: ([{ items }]) => items.length,
    expected: async (truth) => (await truth.all()).length,
  },
  {
    kind: "counting",
    question: "How many stocks score between 40 and 60, both included?",
    form: count,
    solution: [["get_signal", { assetClass: "stock", minScore: 40, maxScore: 60 }]],
    answer: ([{ items }]) => items.length,
    expected: async (truth) =>
      (await stocks(truth)).filter(({ score }) => score >= 40 && score <= 60).length,
  },
];

const sector: readonly Task[] = [
  {
    kind: "sector",
    everyday: "a sector",
    question: "Which health care stock has the highest score?",
    form: symbol,
    solution: [["get_signal", { sector: "Health Care", sort: "score", limit: 1 }]],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    expected: async (truth) => byScore(await inSector(truth, "Health Care"))[0] ?? "",
  },
  {
    kind: "sector",
    question: "Which energy stocks score above 50?",
    form: set("their symbols"),
    solution: [["get_signal", { sector: "Energy", minScore: 51 }]],
    answer: ([{ items }]) => symbolsOf(items),
    expected: async (truth) =>
      symbolsOf((await inSector(truth, "Energy")).filter(({ score }) => score > 50)),
  },
  {
    kind: "sector",
    question: "In which sector is Latho, the toolmaker, listed?",
    form: word("Answer with the name of the sector alone."),
    solution: [["find_instruments", { query: "Latho" }]],
    answer: ([{ items }]) => items[0]?.sector ?? "",
    async expected(truth) {
      const [found] = await some(truth, ({ symbol: one }) => one === "LATHO.SIM");
      return found?.sector ?? "";
    },
  },
  {
    kind: "sector",
    question: "How many industrial companies stand at WAIT?",
    form: count,
    solution: [["get_signal", { sector: "Industrials", signal: "WAIT" }]],
    answer: ([{ items }]) => items.length,
    expected: async (truth) =>
      (await inSector(truth, "Industrials")).filter(({ signal }) => signal === "WAIT").length,
  },
  {
    kind: "sector",
    question: "Which consumer goods company has lost the most score since the close before?",
    form: symbol,
    solution: [["get_signal", { sector: "Consumer Goods", sort: "fall", limit: 1 }]],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    expected: async (truth) =>
      ranked(await inSector(truth, "Consumer Goods"), ({ scoreChange }) => -(scoreChange ?? 0))[0]
        ?.symbol ?? "",
  },
];

const average: readonly Task[] = [
  {
    kind: "average",
    everyday: "an average",
    question: "What is the average score of the technology stocks, from scores in whole points?",
    form: number(1),
    solution: [["get_signal", { sector: "Technology" }]],
    answer: ([{ items }]) => mean(items.map(({ score }) => score)),
    expected: async (truth) => mean(scores(await inSector(truth, "Technology"))),
  },
  {
    kind: "average",
    question: "How large is the confidence in the scores of coins on average?",
    form: number(2),
    solution: [["get_signal", { assetClass: "crypto" }]],
    answer: ([{ items }]) => mean(items.map(({ confidence }) => confidence)),
    expected: async (truth) => mean((await coins(truth)).map(({ confidence }) => confidence)),
  },
  {
    kind: "average",
    question:
      "What was the average score of DATUL.SIM over its last ten sessions, from scores in whole points?",
    form: number(1),
    solution: [["get_signal", { symbol: "DATUL.SIM", last: 10 }]],
    answer: ([{ history }]) => mean(history.score),
    async expected(truth) {
      const { history } = await truth.get("/api/signals?symbol=DATUL.SIM&detail=full&last=30");
      return mean(history.score.slice(-10));
    },
  },
  {
    kind: "average",
    question: "Which sector has the highest average score?",
    form: choice(...SECTORS),
    solution: SECTORS.map((name) => ["get_signal", { sector: name }] as const),
    answer: ([...pages]) => best(pages.map(({ items }) => items.map(({ score }) => score))),
    async expected(truth) {
      const members = SECTORS.map(async (name) =>
        (await inSector(truth, name)).flatMap(({ scoreRaw }) => scoreRaw ?? []),
      );
      return best(await Promise.all(members));
    },
  },
];

/** The sector with the highest mean score. */
function best(all: readonly (readonly number[])[]): string {
  const means = all.map(mean);
  return SECTORS[means.indexOf(Math.max(...means))] ?? "";
}

/** Tasks about many instruments at once. */
export const lists: readonly Task[] = [...ranking, ...counting, ...sector, ...average];
