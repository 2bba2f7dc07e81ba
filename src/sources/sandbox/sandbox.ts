import type { Market, Source } from "../../market/market.ts";
import { createPackedList } from "../../market/packed-list.ts";
import type { Fundamental } from "../../market/records.ts";
import { barOf, packedBars } from "./bars.ts";
import { listedFrom, walkDayOf, type Year, yearOf } from "./calendar.ts";
import type { Scene, Stage } from "./day-context.ts";
import { filingsOf, onChainOf, packedOnChain } from "./fundamentals.ts";
import { mentionsOf, packedMentions } from "./mentions.ts";
import { createEras } from "./price-regimes.ts";
import { packedPrints, printsOf } from "./prints.ts";
import { createProfiles, type Profile } from "./profile.ts";
import { createDraws } from "./rng.ts";
import { packedShortVolumes, shortVolumeOf } from "./short-volumes.ts";

const SOURCE: Source = {
  id: "sandbox",
  name: "Simulated market",
  terms: "Invented instruments and figures, free to use for any purpose.",
  simulated: true,
};

/** Who plays, and where. */
interface Cast {
  readonly profiles: readonly Profile[];
  readonly stage: Stage;
}

/** What has been generated: every day of the year's records up to and including `lastDay`. */
interface World {
  readonly year: Year;
  readonly lastDay: number;
  /** In the order of the profiles. */
  readonly ledgers: readonly Ledger[];
}

/** The records of one instrument while they grow. An absent list says that no feed observes it. */
function openLedger(profile: Profile, stage: Stage) {
  const { instrument, traits } = profile;
  const isCoin = instrument.assetClass === "crypto";
  const { messages, filings, offExchange, onChain } = traits;
  const hasPrints = offExchange === "usual" || offExchange === "thin";
  const fundamentals: Fundamental[] = [];
  return {
    instrument,
    bars: createPackedList(packedBars(stage)),
    ...(messages !== "unobserved" && {
      mentions: createPackedList(packedMentions(profile, stage)),
    }),
    ...(!isCoin && filings !== "unobserved" && { fundamentals }),
    ...(!isCoin && hasPrints && { prints: createPackedList(packedPrints(profile, stage)) }),
    ...(!isCoin &&
      offExchange !== "unobserved" && {
        shortVolumes: createPackedList(packedShortVolumes(stage)),
      }),
    ...(isCoin && onChain !== "unobserved" && { onChain: createPackedList(packedOnChain(stage)) }),
  };
}

type Ledger = ReturnType<typeof openLedger>;

/** A session is called by its first instant. */
const sessionLabel = (day: number, dayMs: number): string => new Date(day * dayMs).toISOString();

/** Days whose labels are remembered: more than are read at a time. */
const REMEMBERED_DAYS = 2_000;

/** Labels of sessions, one for all records of a day. */
function createLabels(dayMs: number): Stage["sessionOf"] {
  const labels = new Map<number, string>();
  return (day) => {
    const known = labels.get(day);
    if (known !== undefined) return known;
    if (labels.size === REMEMBERED_DAYS) labels.clear();
    const label = sessionLabel(day, dayMs);
    labels.set(day, label);
    return label;
  };
}

function openWorld(year: Year, { profiles, stage }: Cast): World {
  const ledgers = profiles.map((profile) => openLedger(profile, stage));
  return { year, lastDay: year.historyDay - 1, ledgers };
}

/** Records of the day itself, then what is published during it about the day before. */
function addDay(ledger: Ledger, scene: Scene, feedDay: number): void {
  const before = ledger.bars.at(-1);
  const yesterday = before?.availableAt === scene.day * scene.stage.dayMs ? before : undefined;
  const bar = barOf(scene, before?.close);
  if (bar !== undefined) ledger.bars.push(bar);
  ledger.fundamentals?.push(...filingsOf(scene));
  if (yesterday !== undefined) ledger.onChain?.push(onChainOf(scene, yesterday));
  if (scene.day < feedDay) return;
  ledger.mentions?.push(...mentionsOf(scene));
  if (bar !== undefined) ledger.prints?.push(...printsOf({ ...scene, bar }));
  if (yesterday !== undefined) ledger.shortVolumes?.push(shortVolumeOf(scene, yesterday));
}

/** Appends the days that are missing up to `day` and returns the world that has them. */
function advance(world: World, day: number, { stage, profiles }: Cast): World {
  const { number, feedDay } = world.year;
  const firstDays = profiles.map(({ traits }) => listedFrom(traits, number));
  for (let next = world.lastDay + 1; next <= day; next++) {
    for (const [index, profile] of profiles.entries()) {
      if (next < (firstDays[index] as number)) continue;
      const scene = { stage, profile, day: next };
      addDay(world.ledgers[index] as Ledger, scene, feedDay);
    }
  }
  return { ...world, lastDay: Math.max(day, world.lastDay) };
}

/**
 * A simulated market of 40 stocks and 8 coins, all invented, that never closes: its records are a
 * pure function of the seed and the instant, whoever asks, in whatever order and process.
 *
 * @param options.sessionSeconds Real seconds in which one simulated day passes, above 0.
 */
export function createSandbox(options: {
  readonly seed: number;
  readonly sessionSeconds: number;
}): Market {
  const dayMs = options.sessionSeconds * 1000;
  const draws = createDraws(options.seed);
  const profiles = createProfiles(draws);
  const sessionOf = createLabels(dayMs);
  const cast = { profiles, stage: { draws, dayMs, sessionOf, eraOf: createEras(draws, profiles) } };
  let world: World | undefined;
  return {
    mode: "sandbox",
    source: SOURCE,
    dayMs,
    sessionAt: (at) => sessionOf(Math.floor(at / dayMs)),
    walkStart: (at) => walkDayOf(Math.floor(at / dayMs)) * dayMs,
    recordsUntil(at) {
      const day = Math.floor(at / dayMs);
      const year = yearOf(day);
      const continues = world?.year.number === year.number && world.lastDay <= day;
      const from = continues && world ? world : openWorld(year, cast);
      world = advance(from, day, cast);
      return world.ledgers;
    },
  };
}
