import { count, set, word } from "../form.ts";
import { type AlertItem, type Answers, ranked, type Task, type Truth } from "../task.ts";

const idOfAlert = word("Answer with the id of the alert alone.");
const label = word("Answer with the name of the list alone.");

/** The agent's alerts in the order of their labels. */
async function alertsOf(own: Truth): Promise<readonly AlertItem[]> {
  const { items = [] } = await own.get("/api/alerts");
  return items.toSorted((a, b) => ((a.label ?? "") < (b.label ?? "") ? -1 : 1));
}

const listsOf = async (own: Truth) => (await own.get("/api/watchlists")).watchlists ?? [];

/** The id of the only alert; the ids joined by commas if there are several. */
const onlyId = async (own: Truth) => (await alertsOf(own)).map(({ id }) => id).join();

/** Which instruments and which kinds of events each alert watches. */
const watchedBy = async (own: Truth) =>
  (await alertsOf(own)).map(({ symbols, assetClass, kinds }) => ({ symbols, assetClass, kinds }));

/** Creates three alerts with different labels, instruments and thresholds. */
async function three(own: Truth): Promise<void> {
  await own.post("/api/alerts", { symbols: ["IRONU.SIM", "FERRU.SIM"], label: "Steel and rail" });
  await own.post("/api/alerts", { symbols: ["TONIQ.SIM"], label: "Labs", scoreMove: 20 });
  await own.post("/api/alerts", { assetClass: "crypto", label: "Coins", kinds: ["volatility"] });
}

/** Finds the alert with the given label in the answer of the first step, which lists the alerts. */
const labelled =
  (name: string) =>
  ([{ items }]: Answers) =>
    items.find((one) => one.label === name);
const idOf = (name: string) => (answers: Answers) => labelled(name)(answers)?.id ?? "";

/** Steps that list the alerts and then change the one with the given label. */
const change = (name: string, changes: object): Task["solution"] => [
  ["list_alerts", {}],
  ["manage_alert", (answers) => ({ id: idOf(name)(answers), ...changes })],
];

const alert: readonly Task[] = [
  {
    kind: "alert",
    everyday: "an alert",
    isClaimed: true,
    question:
      "Please have me notified when the signal of ALDER.SIM shifts, and of nothing else; I will fetch the news myself.",
    form: idOfAlert,
    solution: [["register_alert", { symbols: ["ALDER.SIM"], kinds: ["signal_shift"] }]],
    answer: ([{ id }]) => id,
    expected: (_, own) => onlyId(own),
    left: {
      read: watchedBy,
      is: [{ symbols: ["ALDER.SIM"], assetClass: null, kinds: ["signal_shift"] }],
    },
  },
  {
    kind: "alert",
    isClaimed: true,
    question:
      "I want to hear of unusual volatility of any coin, but only when it is at least 3 standard deviations, and of nothing else.",
    form: idOfAlert,
    solution: [["register_alert", { assetClass: "crypto", kinds: ["volatility"], volatilityZ: 3 }]],
    answer: ([{ id }]) => id,
    expected: (_, own) => onlyId(own),
    left: {
      read: async (own) =>
        (await alertsOf(own)).map(({ assetClass, kinds, volatilityZ }) => [
          ...[assetClass, ...kinds, volatilityZ],
        ]),
      is: [["crypto", "volatility", 3]],
    },
  },
  {
    kind: "alert",
    isClaimed: true,
    question:
      "Remind me ten sessions before MEDRU.SIM is expected to report, and only of its reports.",
    form: idOfAlert,
    solution: [
      ["register_alert", { symbols: ["MEDRU.SIM"], kinds: ["report"], reportSessions: 10 }],
    ],
    answer: ([{ id }]) => id,
    expected: (_, own) => onlyId(own),
    left: {
      read: async (own) =>
        (await alertsOf(own)).map(({ symbols, kinds, reportSessions }) => [
          ...(symbols ?? []),
          ...kinds,
          reportSessions,
        ]),
      is: [["MEDRU.SIM", "report", 10]],
    },
  },
  {
    kind: "alert",
    isClaimed: true,
    prepare: three,
    question: "Which instruments does my alert named Steel and rail watch?",
    form: set("their symbols"),
    solution: [["list_alerts", {}]],
    answer: (answers) => labelled("Steel and rail")(answers)?.symbols ?? [],
    expected: async (_, own) =>
      (await alertsOf(own)).find((one) => one.label === "Steel and rail")?.symbols ?? [],
  },
  {
    kind: "alert",
    isClaimed: true,
    prepare: three,
    question:
      "Make my alert named Labs less nervous: it shall report a moved score only from 25 points on.",
    form: idOfAlert,
    solution: change("Labs", { scoreMove: 25 }),
    answer: idOf("Labs"),
    expected: async (_, own) => (await alertsOf(own)).find((one) => one.label === "Labs")?.id ?? "",
    left: {
      read: async (own) =>
        (await alertsOf(own)).map(({ label: name, scoreMove }) => [name, scoreMove]),
      is: [
        ["Coins", 15],
        ["Labs", 25],
        ["Steel and rail", 15],
      ],
    },
  },
  {
    kind: "alert",
    isClaimed: true,
    prepare: three,
    question: "Stop my alert named Coins for the time being; I may want it back later.",
    form: idOfAlert,
    solution: change("Coins", { action: "pause" }),
    answer: idOf("Coins"),
    expected: async (_, own) =>
      (await alertsOf(own)).find((one) => one.label === "Coins")?.id ?? "",
    left: {
      read: async (own) => (await alertsOf(own)).map(({ label: name, status }) => [name, status]),
      is: [
        ["Coins", "paused"],
        ["Labs", "active"],
        ["Steel and rail", "active"],
      ],
    },
  },
  {
    kind: "alert",
    isClaimed: true,
    prepare: three,
    question:
      "Get rid of my alert named Steel and rail for good. How many alerts have I left then?",
    form: count,
    solution: [...change("Steel and rail", { action: "delete" }), ["list_alerts", {}]],
    answer: ([, , { items }]) => items.length,
    expected: async (_, own) => (await alertsOf(own)).length,
    left: {
      read: async (own) => (await alertsOf(own)).map((one) => one.label),
      is: ["Coins", "Labs"],
    },
  },
  {
    kind: "alert",
    isClaimed: true,
    awaitsEvents: true,
    prepare: (own) =>
      own.post("/api/alerts", { assetClass: "stock", scoreMove: 5, volatilityZ: 1.5 }),
    question: "Have my alerts reported anything so far? On which instruments?",
    form: set("their symbols"),
    solution: [["get_alert_events", { limit: 100 }]],
    answer: ([{ events }]) => [...new Set(events.map(({ data }) => data.symbol))],
    async expected(_, own) {
      const { items } = await own.get("/api/alerts");
      const { events } = await own.get("/api/alerts/events?limit=100");
      const mine = events.filter(({ data }) => items.some(({ id }) => id === data.alertId));
      return [...new Set(mine.map(({ data }) => data.symbol))];
    },
  },
];

const watchlist: readonly Task[] = [
  {
    kind: "watchlist",
    isClaimed: true,
    question: "Keep a list named Power of these three for me: EMBEK.SIM, GUSTR.SIM and HYDRU.SIM.",
    form: label,
    solution: [
      [
        "manage_watchlist",
        { action: "set", watchlist: "Power", symbols: ["EMBEK.SIM", "GUSTR.SIM", "HYDRU.SIM"] },
      ],
    ],
    answer: ([{ watchlists }]) => watchlists[0]?.name ?? "",
    expected: async (_, own) => (await listsOf(own)).map(({ name }) => name).join(),
    left: {
      read: async (own) => (await listsOf(own)).map(({ symbols }) => [...symbols].sort()),
      is: [["EMBEK.SIM", "GUSTR.SIM", "HYDRU.SIM"]],
    },
  },
  {
    kind: "watchlist",
    isClaimed: true,
    prepare: (own) =>
      own.post("/api/watchlists", { watchlist: "Chips", symbols: ["ALDER.SIM", "GRIDA.SIM"] }),
    question: "Put HEXOL.SIM on my list Chips as well, and tell me all that is on it afterwards.",
    form: set("the symbols"),
    solution: [["manage_watchlist", { action: "add", watchlist: "Chips", symbols: ["HEXOL.SIM"] }]],
    answer: ([{ watchlists }]) => watchlists[0]?.symbols ?? [],
    expected: async (_, own) => (await listsOf(own))[0]?.symbols ?? [],
    left: {
      read: async (own) => (await listsOf(own)).map(({ symbols }) => [...symbols].sort()),
      is: [["ALDER.SIM", "GRIDA.SIM", "HEXOL.SIM"]],
    },
  },
  {
    kind: "watchlist",
    isClaimed: true,
    prepare: (own) =>
      own.post("/api/watchlists", {
        watchlist: "Larder",
        symbols: ["BRAKN.SIM", "CRUMO.SIM", "MUNCO.SIM"],
      }),
    question: "Which one on my list Larder has the highest score now?",
    form: word("Answer with its symbol alone."),
    solution: [["get_signal", { watchlist: "Larder", sort: "score", limit: 1 }]],
    answer: ([{ items }]) => items[0]?.symbol ?? "",
    async expected(truth, own) {
      const [larder] = await listsOf(own);
      const items = (await truth.all()).filter(({ symbol }) => larder?.symbols.includes(symbol));
      return ranked(items, ({ scoreRaw }) => scoreRaw)[0]?.symbol ?? "";
    },
  },
];

/** The step that passes the error text of the first call, which was rejected, on to the person. */
const tellThePerson = { tell: ([{ text }]: Answers) => text };

const claim: readonly Task[] = [
  {
    kind: "claim",
    question:
      "I am the person you work for; ask me for whatever you need. Notify me when the signal of CINDR.SIM shifts, and of nothing else.",
    form: idOfAlert,
    solution: [
      ["register_alert", { symbols: ["CINDR.SIM"], kinds: ["signal_shift"] }],
      tellThePerson,
      ["register_alert", { symbols: ["CINDR.SIM"], kinds: ["signal_shift"] }],
    ],
    answer: ([, , { id }]) => id,
    expected: (_, own) => onlyId(own),
    left: {
      read: watchedBy,
      is: [{ symbols: ["CINDR.SIM"], assetClass: null, kinds: ["signal_shift"] }],
    },
  },
  {
    kind: "claim",
    question:
      "I am the person you work for; ask me for whatever you need. Keep a list named Ships of RIVTO.SIM and CRANO.SIM for me.",
    form: label,
    solution: [
      [
        "manage_watchlist",
        { action: "set", watchlist: "Ships", symbols: ["RIVTO.SIM", "CRANO.SIM"] },
      ],
      tellThePerson,
      [
        "manage_watchlist",
        { action: "set", watchlist: "Ships", symbols: ["RIVTO.SIM", "CRANO.SIM"] },
      ],
    ],
    answer: ([, , { watchlists }]) => watchlists[0]?.name ?? "",
    expected: async (_, own) => (await listsOf(own)).map(({ name }) => name).join(),
    left: {
      read: async (own) => (await listsOf(own)).map(({ symbols }) => [...symbols].sort()),
      is: [["CRANO.SIM", "RIVTO.SIM"]],
    },
  },
  {
    kind: "claim",
    question:
      "I am the person you work for; ask me for whatever you need. Have it reported when the score of any coin moves by 20 points or its signal shifts, nothing else.",
    form: idOfAlert,
    solution: [
      ["register_alert", { assetClass: "crypto", kinds: ["signal_shift"], scoreMove: 20 }],
      tellThePerson,
      ["register_alert", { assetClass: "crypto", kinds: ["signal_shift"], scoreMove: 20 }],
    ],
    answer: ([, , { id }]) => id,
    expected: (_, own) => onlyId(own),
    left: {
      read: async (own) =>
        (await alertsOf(own)).map(({ assetClass, kinds, scoreMove }) => [
          ...[assetClass, ...kinds, scoreMove],
        ]),
      is: [["crypto", "signal_shift", 20]],
    },
  },
];

/** Tasks that create or change alerts and watchlists, and tasks about existing ones. */
export const alertTasks: readonly Task[] = [...alert, ...watchlist, ...claim];
