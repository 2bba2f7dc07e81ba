import {
  currentFault,
  type IngestReport,
  isSilent,
  type ProviderReport,
  readIngestReport,
} from "../../ingest/provider-status.ts";
import { defineStoreCommand } from "../command.ts";
import { durationText } from "../format.ts";
import { isoOrNull } from "./shared.ts";

/** Maximum number of rejected observations, and of failing data series, shown per provider. */
const MAX_SHOWN_ITEMS = 3;

/** Maximum number of unknown symbols shown per provider. */
const SHOWN_UNKNOWN = 10;

/** Shows the state of every live provider. */
export const doctorCommand = defineStoreCommand({
  summary: "Says how every provider of live data is doing, and what was set apart.",
  notes: [
    "For each: what it lacks, when it last answered, how old its newest datum is, how many requests",
    "it allows now, its last fault, what of it cannot be read, and which symbols it does not have.",
    "Ends with 1 when one that is wanted does not answer, stands still (silent), or when not everything",
    "it answers can be read.",
  ],

  async run(_args, { store, now }) {
    const report = await readIngestReport({ records: store.records, archive: store.archive, now });
    if (report === undefined) {
      const text = "No live market was followed here yet: start the service with MARKET=live.";
      return { isGood: true, lines: [text], result: { providers: [] }, notes: [] };
    }
    const at = now();
    return {
      isGood: report.providers.every((one) => !BAD.has(stateOf(one, at))),
      lines: linesOfReport(report, at),
      result: { ...report, providers: report.providers.map((one) => resultOf(one, at)) },
      notes: [],
    };
  },
});

/** The state of a provider, as one word for the output. */
type State = "well" | "partly" | "fault" | "silent" | "waiting" | "off";

/** The states that need the operator's attention. */
const BAD: ReadonlySet<State> = new Set(["fault", "partly", "silent"]);

function stateOf(report: ProviderReport, now: number): State {
  if (report.feeds.length === 0) return "off";
  if (currentFault(report) !== null) return "fault";
  if (isSilent(report, now)) return "silent";
  if (report.failingSeries.length > 0) return "partly";
  return report.progress.lastSuccessAt === null ? "waiting" : "well";
}

function linesOfReport(
  { instruments, unpriced, providers }: IngestReport,
  now: number,
): readonly string[] {
  const width = Math.max(...providers.map(({ id }) => id.length)) + 2;
  const lines = providers.flatMap((one) => {
    const [first = "", ...others] = linesOf(one, now);
    const start = `${one.id.padEnd(width)}${stateOf(one, now).padEnd(9)}`;
    return [start + first, ...others.map((line) => " ".repeat(start.length) + line)];
  });
  const without = unpriced > 0 ? `; nobody is asked for the prices of ${unpriced}` : "";
  return [`${instruments} instruments are followed${without}.`, ...lines];
}

function linesOf(report: ProviderReport, now: number): readonly string[] {
  const { feeds, missing, progress, budget, budgetLeft } = report;
  if (missing.length > 0) return [`needs ${missing.join(", ")}`];
  if (feeds.length === 0) return ["left out, or another provider has the same"];
  const { lastSuccessAt, newestAt, lastFault, openUntil } = progress;
  const fault =
    lastFault && `last fault ${ago(lastFault.at, now)}: ${lastFault.text} (${lastFault.kind})`;
  const pause = openUntil > now && `next try in ${durationText(openUntil - now)}`;
  return [
    `${feeds.join(", ")}; last answer ${ago(lastSuccessAt, now)}, newest datum ${ago(newestAt, now)}`,
    budget && `${budgetLeft} of ${budget.requests} requests left in ${durationText(budget.perMs)}`,
    fault,
    pause,
    ...listOf(
      report.failingSeries.map(
        ({ key, failures, fault }) => `${key}: ${fault} (${failures} times)`,
      ),
      "series cannot be read, the longest:",
    ),
    unknownLine(report),
    ...listOf(
      report.rejected.map(({ feed, symbol, reason }) => `${symbol} ${feed}: ${reason}`),
      "set apart in 30 days, the newest:",
    ),
  ].filter((line) => typeof line === "string");
}

/** A line with the length of a list and its first entries; no line for an empty list. */
const listOf = (all: readonly string[], what: string): readonly string[] =>
  all.length === 0
    ? []
    : [`${all.length} ${what}`, ...all.slice(0, MAX_SHOWN_ITEMS).map((one) => `  ${one}`)];

function unknownLine({ unknown }: ProviderReport): string | undefined {
  if (unknown.length === 0) return undefined;
  const more = unknown.length - SHOWN_UNKNOWN;
  const shown = unknown.slice(0, SHOWN_UNKNOWN).join(", ");
  return `does not have ${shown}${more > 0 ? ` and ${more} more` : ""}`;
}

const ago = (at: number | null, now: number): string =>
  at === null ? "never" : `${durationText(Math.max(0, now - at))} ago`;

function resultOf(report: ProviderReport, now: number) {
  const { id, name, missing, feeds, budget, budgetLeft, progress } = report;
  const { failingSeries, unknown, rejected } = report;
  const { lastSuccessAt, newestAt, lastFault, openUntil, failures } = progress;
  return {
    id,
    name,
    state: stateOf(report, now),
    missing,
    feeds,
    budget,
    budgetLeft,
    failures,
    lastSuccessAt: isoOrNull(lastSuccessAt ?? undefined),
    newestAt: isoOrNull(newestAt ?? undefined),
    openUntil: isoOrNull(openUntil || undefined),
    lastFault: lastFault && { ...lastFault, at: isoOrNull(lastFault.at) },
    failingSeries,
    unknown,
    rejected,
  };
}
