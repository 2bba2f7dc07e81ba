import { marketDayName } from "../../lib/day.ts";
import { BarFilter } from "../../market/bar-quality.ts";
import { withLogReturn } from "../../market/bar-return.ts";
import type { DataSource, Market } from "../../market/market.ts";
import { createPackedList } from "../../market/packed-list.ts";
import type { Fundamental } from "../../market/records.ts";
import { barOf, barPacking } from "./bars.ts";
import {
  firstListedDay,
  firstScoredDay,
  firstServedDay,
  type SandboxYear,
  sandboxYearOf,
} from "./calendar.ts";
import type { DayContext, SandboxWorld } from "./day-context.ts";
import { filingsOf, onChainOf, onChainPacking } from "./fundamentals.ts";
import { mentionPacking, mentionsOf } from "./mentions.ts";
import { createPriceSegments } from "./price-paths.ts";
import { printPacking, printsOf } from "./prints.ts";
import { createProfiles, type InstrumentProfile } from "./profile.ts";
import { createRngFor } from "./rng.ts";
import { shortVolumeOf, shortVolumePacking } from "./short-volumes.ts";

const SOURCE: DataSource = {
  id: "sandbox",
  name: "Simulated market",
  terms: "Invented instruments and figures, free to use for any purpose.",
  simulated: true,
};

/** The records of a sandbox year, generated up to and including `lastDay`. */
interface GeneratedYear {
  readonly year: SandboxYear;
  readonly lastDay: number;
  /** Records of each instrument, in the order of the profiles. */
  readonly lists: readonly RecordLists[];
  /** Filters that withhold doubtful bars, in the order of the profiles. */
  readonly filters: readonly BarFilter[];
}

/**
 * Creates the empty record lists of one instrument. A list is absent if no feed covers the
 * instrument.
 */
function openRecordLists(profile: InstrumentProfile, world: SandboxWorld, filter: BarFilter) {
  const { instrument, traits } = profile;
  const isCoin = instrument.assetClass === "crypto";
  const { messages, filings, offExchange, onChain } = traits;
  const hasPrints = offExchange === "usual" || offExchange === "thin";
  const fundamentals: Fundamental[] = [];
  return {
    instrument,
    doubtedBars: filter.doubts,
    bars: createPackedList(barPacking(world)),
    ...(messages !== "unobserved" && {
      mentions: createPackedList(mentionPacking(profile, world)),
    }),
    ...(!isCoin && filings !== "unobserved" && { fundamentals }),
    ...(!isCoin && hasPrints && { prints: createPackedList(printPacking(profile, world)) }),
    ...(!isCoin &&
      offExchange !== "unobserved" && {
        shortVolumes: createPackedList(shortVolumePacking(world)),
      }),
    ...(isCoin && onChain !== "unobserved" && { onChain: createPackedList(onChainPacking(world)) }),
  };
}

type RecordLists = ReturnType<typeof openRecordLists>;

/** Maximum number of labels in memory; more than a sandbox year and its history need. */
const REMEMBERED_DAYS = 2_000;

/** Creates a function that gives session labels; all records of a day share one string. */
function createLabels(dayMs: number): SandboxWorld["sessionOf"] {
  const labels = new Map<number, string>();
  return (day) => {
    const known = labels.get(day);
    if (known !== undefined) return known;
    if (labels.size === REMEMBERED_DAYS) labels.clear();
    const label = marketDayName(day * dayMs, dayMs);
    labels.set(day, label);
    return label;
  };
}

function startYear(year: SandboxYear, world: SandboxWorld): GeneratedYear {
  const filters = world.profiles.map(() => new BarFilter());
  const lists = world.profiles.map((profile, index) =>
    openRecordLists(profile, world, filters[index] as BarFilter),
  );
  return { year, lastDay: year.historyDay - 1, lists, filters };
}

/**
 * Adds the records of a day, including records about the previous day that are published on this
 * day.
 */
function addDay(lists: RecordLists, filter: BarFilter, context: DayContext, feedDay: number): void {
  const before = lists.bars.at(-1);
  const yesterday = before?.availableAt === context.day * context.world.dayMs ? before : undefined;
  const bar = barOf(context);
  for (const passed of bar === undefined ? [] : filter.add(bar)) {
    lists.bars.push(withLogReturn(passed, lists.bars.at(-1)?.close));
  }
  lists.fundamentals?.push(...filingsOf(context));
  if (yesterday !== undefined) lists.onChain?.push(onChainOf(context, yesterday));
  if (context.day < feedDay) return;
  lists.mentions?.push(...mentionsOf(context));
  if (bar !== undefined) lists.prints?.push(...printsOf({ ...context, bar }));
  if (yesterday !== undefined) lists.shortVolumes?.push(shortVolumeOf(context, yesterday));
}

/** Generates the missing days up to and including `day`. */
function generateUntil(day: number, generated: GeneratedYear, world: SandboxWorld): GeneratedYear {
  const { year, lastDay, lists, filters } = generated;
  const firstDays = world.profiles.map(({ traits }) => firstListedDay(traits, year.number));
  for (let next = lastDay + 1; next <= day; next++) {
    for (const [index, profile] of world.profiles.entries()) {
      if (next < (firstDays[index] as number)) continue;
      const context = { world, profile, day: next };
      addDay(lists[index] as RecordLists, filters[index] as BarFilter, context, year.feedDay);
    }
  }
  return { year, lastDay: Math.max(day, lastDay), lists, filters };
}

/**
 * A simulated market of 40 invented stocks and 8 invented coins, open around the clock. Its records
 * are a pure function of the seed and the instant, independent of process and order of calls.
 *
 * @param options.sessionSeconds Real seconds in which one simulated day passes, above 0.
 */
export function createSandbox(options: {
  readonly seed: number;
  readonly sessionSeconds: number;
}): Market {
  const dayMs = options.sessionSeconds * 1000;
  const rngFor = createRngFor(options.seed);
  const profiles = createProfiles(rngFor);
  const sessionOf = createLabels(dayMs);
  const segmentOf = createPriceSegments(rngFor, profiles);
  const world: SandboxWorld = { profiles, rngFor, segmentOf, dayMs, sessionOf };
  let generated: GeneratedYear | undefined;
  return {
    mode: "sandbox",
    source: SOURCE,
    dayMs,
    sessionAt: (at) => sessionOf(Math.floor(at / dayMs)),
    scoredFrom: (at) => firstScoredDay(Math.floor(at / dayMs)) * dayMs,
    servedFrom: (at) => firstServedDay(Math.floor(at / dayMs)) * dayMs,
    recordsUntil(at) {
      const day = Math.floor(at / dayMs);
      const year = sandboxYearOf(day);
      const continues = generated?.year.number === year.number && generated.lastDay <= day;
      const from = continues && generated ? generated : startYear(year, world);
      generated = generateUntil(day, from, world);
      return generated.lists;
    },
  };
}
