import pkg from "../../package.json" with { type: "json" };
import { deliveries } from "../alerts/delivery/delivery.ts";
import type { Config } from "../config/config.ts";
import type { Streams } from "../http/open-streams.ts";
import { providerStatuses } from "../ingest/provider-status.ts";
import type { State } from "../state.ts";
import type { ToolContext } from "../tool.ts";
import type { Metrics, Standing } from "./metrics.ts";
import type { ProcessReport, Report } from "./report.ts";

/** What of a report the server and the log of the process know. */
export type ProcessParts = Pick<ProcessReport, "shed" | "lastErrors">;

/** What a report is made from. */
export interface ReportOptions {
  readonly now: () => Date;
  readonly state: Pick<State, "isLeader">;
  readonly market: Pick<ToolContext["market"], "mode" | "knownUntil" | "instruments" | "now">;
  readonly streams: Pick<Streams, "size">;
  readonly denials: () => ProcessReport["denials"];
  readonly agentRoom: () => ProcessReport["agentRoom"];
  readonly processParts?: (() => ProcessParts) | undefined;
}

/** The parts where no process serves. */
const NO_PARTS: ProcessParts = { shed: 0, lastErrors: [] };

/** Reports on this process from now on. */
export function createReport(options: ReportOptions): Report {
  const {
    now,
    state,
    market,
    streams,
    denials,
    agentRoom,
    processParts = () => NO_PARTS,
  } = options;
  const { mode, knownUntil, instruments } = market;
  const startedAt = now().getTime();
  return () => ({
    ...{ version: pkg.version, startedAt },
    market: {
      ...{ mode, asOf: knownUntil(), instruments: instruments().length },
      behindMs: Math.max(0, market.now() - knownUntil()),
    },
    ...{ isLeader: state.isLeader(), openStreams: streams.size, denials: denials() },
    agentRoom: agentRoom(),
    ...processParts(),
  });
}

/** Loads what measures, which takes time and memory, only where somebody will look. */
export async function openMetrics({
  metricsPort,
}: Pick<Config, "metricsPort">): Promise<Metrics | undefined> {
  if (metricsPort === undefined) return undefined;
  const { createMetrics } = await import("./metrics.ts");
  return createMetrics();
}

/** Metrics as they are offered. */
export type ServedMetrics = Pick<Metrics, "contentType"> & { readonly text: () => Promise<string> };

/** What a standing is read from. */
interface StandingOptions {
  readonly report: Report;
  readonly state: Pick<State, "store">;
  readonly now: () => Date;
}

/** Metrics that read how things stand whenever they are asked for. */
export function servedMetrics(
  metrics: Metrics | undefined,
  options: StandingOptions,
): ServedMetrics | undefined {
  if (metrics === undefined) return undefined;
  const { contentType, text } = metrics;
  return { contentType, text: async () => text(await standingOf(options)) };
}

/** A silent store is no reason to tell nothing: just then somebody looks. */
async function standingOf({ report, state, now }: StandingOptions): Promise<Standing> {
  const { store } = state;
  const [queue, size, providers] = await Promise.allSettled([
    store.backlog(deliveries),
    store.size(),
    providerLags(store, now().getTime()),
  ]);
  return {
    ...report(),
    deliveries: told(queue),
    size: told(size),
    providers: told(providers),
  };
}

const told = <T>(result: PromiseSettledResult<T>): T | undefined =>
  result.status === "fulfilled" ? result.value : undefined;

async function providerLags({ records }: State["store"], now: number) {
  const standings = await providerStatuses({ records, now: () => now });
  const followed = standings?.providers.filter(({ feeds }) => feeds.length > 0) ?? [];
  return followed.map(({ id, progress: { newestAt, failures } }) => ({
    ...{ id, failures },
    lagMs: newestAt === null ? null : Math.max(0, now - newestAt),
  }));
}
