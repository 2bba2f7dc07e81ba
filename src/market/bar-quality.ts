import type { BarDoubt, BarFault, BarVerdict, RecordList, ReportedBar } from "./records.ts";

/** When a bar is doubted; measured on 1,131,036 daily bars of stocks, funds and coins. */
const BAR_LIMITS = {
  /** |log return| from the close before to an open or close: a factor of 2.2. */
  jump: 0.8,
  /** |log ratio| of a high or low to the open and close between them: a factor of 3. */
  spike: Math.log(3),
  /** Both limits are at least this many usual ranges ln(high / low): volatile instruments move
   *  further. */
  usualRanges: 12,
  /** Half-life in sessions of the usual range and volume. */
  halfLifeSessions: 21,
  /** Log distance of open and close from a split ratio within which a split is suspected. */
  splitTolerance: 0.06,
  /** Least |log ratio| of a split that is suspected: smaller ones look like returns. */
  minSplit: 1 / 3,
  /** A suspected split has less than this many usual volumes: a crash has more. */
  splitVolumes: 3,
  /** Its range ln(high / low) is less than this many usual ones, or less than this share of the
   *  gap: a crash continues after its gap. */
  splitRanges: 2.5,
  splitRangeShare: 0.1,
} as const;

/** New shares per old share of common splits; reverse splits are their inverses. */
const SPLIT_RATIOS = [1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100].flatMap(
  (ratio) => [ratio, 1 / ratio],
);

/** The fault of a bar. */
interface Suspicion {
  readonly fault: BarFault;
  /** What is wrong with the bar, in one sentence. */
  readonly detail: string;
  /** The doubted price, near which the next bar must open to confirm the bar. Absent if the bar is
   *  impossible. */
  readonly level?: number;
  /** New shares per old share of the split that would explain the bar. */
  readonly split?: number;
}

/** Summary of the accepted bars, against which the next one is compared. */
interface BarPast {
  readonly last: ReportedBar;
  /** Exponentially weighted ln(high / low). */
  readonly usualRange: number;
  /** Exponentially weighted volume, in shares of the last bar. */
  readonly usualVolume: number;
}

/** Bars of one instrument up to the newest one. */
export interface BarMemory {
  /** Absent before the first accepted bar. */
  readonly past?: BarPast | undefined;
  /** The newest bar, while it is doubted. */
  readonly held?: { readonly bar: ReportedBar; readonly suspicion: Suspicion } | undefined;
}

/** Result of checking one more bar. */
export interface BarCheck {
  readonly memory: BarMemory;
  /** Bars that are accepted now, oldest first: a confirmed bar becomes known with the next one. */
  readonly accepted: readonly ReportedBar[];
  /** Verdict on the bar held before; absent when there was none. */
  readonly verdict?: BarVerdict;
}

/**
 * Checks the next bar of an instrument against the bars before it. A doubted bar is held until the
 * next bar arrives: it is confirmed if the next bar opens nearer to the doubted price than to the
 * last accepted close, and dropped otherwise. Splits and dividends of a dropped bar are carried
 * over to the bar after it.
 */
export function checkBar({ past, held }: BarMemory, bar: ReportedBar): BarCheck {
  if (held === undefined) return checkNext(past, bar);
  const verdict = verdictOn(held, past, bar);
  if (verdict === "dropped") {
    return { ...checkNext(past, withActionsOf(held.bar, bar)), verdict };
  }
  const { split = held.bar.split } = held.suspicion;
  const confirmed = { ...held.bar, split, availableAt: bar.availableAt };
  const { memory, accepted } = checkNext(accept(past, confirmed), bar);
  return { memory, accepted: [confirmed, ...accepted], verdict };
}

/** Passes on the plausible bars of one instrument as they arrive, in the order of their sessions. */
export class BarFilter {
  #memory: BarMemory = {};
  readonly #doubts: BarDoubt[] = [];

  /** Every doubted bar so far. */
  get doubts(): RecordList<BarDoubt> {
    return this.#doubts;
  }

  /** Checks the next bar. @returns The bars that are accepted now, oldest first. */
  add(bar: ReportedBar): readonly ReportedBar[] {
    const { memory, accepted, verdict } = checkBar(this.#memory, bar);
    this.#memory = memory;
    if (verdict !== undefined) {
      const doubt = this.#doubts.at(-1) as BarDoubt;
      const outcome = { verdict, at: bar.availableAt };
      this.#doubts[this.#doubts.length - 1] = { ...doubt, outcome };
    }
    if (memory.held !== undefined) {
      const { fault, detail } = memory.held.suspicion;
      const { session, availableAt } = bar;
      this.#doubts.push({ session, availableAt, fault, detail, outcome: null });
    }
    return accepted;
  }
}

function checkNext(past: BarPast | undefined, bar: ReportedBar): BarCheck {
  const suspicion = suspicionOf(bar, past);
  if (suspicion !== undefined) return { memory: { past, held: { bar, suspicion } }, accepted: [] };
  return { memory: { past: accept(past, bar) }, accepted: [bar] };
}

const DECAY = 2 ** (-1 / BAR_LIMITS.halfLifeSessions);

function accept(past: BarPast | undefined, bar: ReportedBar): BarPast {
  const range = Math.min(Math.log(bar.high / bar.low), BAR_LIMITS.jump);
  const usualRange = past?.usualRange ?? range;
  const usualVolume = past === undefined ? bar.volume : past.usualVolume * bar.split;
  return {
    last: bar,
    usualRange: DECAY * usualRange + (1 - DECAY) * range,
    usualVolume: DECAY * usualVolume + (1 - DECAY) * bar.volume,
  };
}

/** ln of a price over the close before, splits and dividends included. */
const logChange = (price: number, { dividend, split }: ReportedBar, before: number): number =>
  Math.log(((price + dividend) * split) / before);

function verdictOn(
  { bar, suspicion }: NonNullable<BarMemory["held"]>,
  past: BarPast | undefined,
  next: ReportedBar,
): BarVerdict {
  const { level, split } = suspicion;
  if (level === undefined || past === undefined) return "dropped";
  if (impossibility(next) !== undefined) return "dropped";
  const fromLevel = Math.abs(logChange(next.open, next, level));
  const skipped = withActionsOf(bar, next);
  const fromLast = Math.abs(logChange(next.open, skipped, past.last.close));
  if (!(fromLevel < fromLast)) return "dropped";
  return split === undefined ? "confirmed" : "adjusted";
}

/** A bar with the splits and dividends of the dropped bar before it. */
function withActionsOf(dropped: ReportedBar, bar: ReportedBar): ReportedBar {
  if (dropped.split === 1 && dropped.dividend === 0) return bar;
  const dividend = bar.dividend + dropped.dividend / bar.split;
  return { ...bar, dividend, split: dropped.split * bar.split };
}

/** Why a bar is doubted, `undefined` if it is plausible. */
function suspicionOf(bar: ReportedBar, past: BarPast | undefined): Suspicion | undefined {
  const detail = impossibility(bar);
  if (detail !== undefined) return { fault: "impossible", detail };
  if (past === undefined) return undefined;
  return repetitionOf(bar, past) ?? splitOf(bar, past) ?? jumpOf(bar, past) ?? spikeOf(bar, past);
}

/** Why a bar is impossible in itself, `undefined` if it is not. */
export function impossibility({
  open,
  high,
  low,
  close,
  volume,
}: Pick<ReportedBar, "open" | "high" | "low" | "close" | "volume">): string | undefined {
  // Comparisons with NaN fail too.
  if (low > 0 && low <= open && open <= high && low <= close && close <= high) {
    if (high < Number.POSITIVE_INFINITY && volume >= 0 && volume < Number.POSITIVE_INFINITY) {
      return undefined;
    }
  }
  for (const price of [open, high, low, close]) {
    if (!Number.isFinite(price) || price <= 0) return `the price ${price} is not above 0`;
  }
  if (high < low) return `the high ${high} is under the low ${low}`;
  if (open < low || open > high) return `the open ${open} is not between ${low} and ${high}`;
  if (close < low || close > high) return `the close ${close} is not between ${low} and ${high}`;
  return `the volume ${volume} is not at least 0`;
}

/** A bar without a range may repeat the previous one, since there was no trade. */
function repetitionOf(bar: ReportedBar, { last }: BarPast): Suspicion | undefined {
  const { open, high, low, close, volume } = bar;
  if (high === low || bar.split !== 1) return undefined;
  const isSame =
    open === last.open &&
    high === last.high &&
    low === last.low &&
    close === last.close &&
    volume === last.volume;
  if (!isSame) return undefined;
  return { fault: "repeat", detail: "all prices and the volume repeat the bar before it" };
}

/** Open and close at a split ratio, in an otherwise usual session. */
function splitOf(bar: ReportedBar, past: BarPast): Suspicion | undefined {
  const { open, high, low, close, volume, split } = bar;
  const { last, usualRange, usualVolume } = past;
  if (split !== 1) return undefined;
  const opening = logChange(open, bar, last.close);
  const closing = logChange(close, bar, last.close);
  const isNear = (ratio: number) =>
    Math.abs(opening + Math.log(ratio)) < BAR_LIMITS.splitTolerance &&
    Math.abs(closing + Math.log(ratio)) < BAR_LIMITS.splitTolerance;
  const isGap = Math.abs(opening) >= BAR_LIMITS.minSplit;
  const ratio = isGap ? SPLIT_RATIOS.find(isNear) : undefined;
  if (ratio === undefined) return undefined;
  const { splitRanges, splitRangeShare } = BAR_LIMITS;
  const calm = Math.max(splitRanges * usualRange, splitRangeShare * Math.abs(opening));
  if (Math.log(high / low) >= calm) return undefined;
  // In shares or in money, whichever rose less: not every feed adjusts the volume.
  const volumes = (volume / usualVolume) * Math.min(1, close / last.close);
  if (volumes >= BAR_LIMITS.splitVolumes) return undefined;
  const detail = `the close ${short(close)} is ${short(close / last.close)} times the ${short(last.close)} before it, as after a split that was not announced`;
  return { fault: "split", detail, level: close, split: ratio };
}

const limitOf = (least: number, { usualRange }: BarPast): number =>
  Math.max(least, BAR_LIMITS.usualRanges * usualRange);

function jumpOf(bar: ReportedBar, past: BarPast): Suspicion | undefined {
  const { last } = past;
  const limit = limitOf(BAR_LIMITS.jump, past);
  for (const name of ["close", "open"] as const) {
    const level = bar[name];
    if (Math.abs(logChange(level, bar, last.close)) <= limit) continue;
    const detail = `the ${name} ${short(level)} is too far from the close ${short(last.close)} before it, and no split explains it`;
    return { fault: "jump", detail, level };
  }
  return undefined;
}

function spikeOf(bar: ReportedBar, past: BarPast): Suspicion | undefined {
  const { open, high, low, close } = bar;
  const limit = limitOf(BAR_LIMITS.spike, past);
  const top = Math.max(open, close);
  const bottom = Math.min(open, close);
  const [name, level, body] =
    high / top > bottom / low ? ["high", high, top] : ["low", low, bottom];
  if (Math.abs(Math.log(level / body)) <= limit) return undefined;
  const detail = `the ${name} ${short(level)} is too far from the ${short(body)} at the open or close`;
  return { fault: "spike", detail, level };
}

/** A price with six significant digits, for messages. */
const short = (price: number): string => String(Number(price.toPrecision(6)));
