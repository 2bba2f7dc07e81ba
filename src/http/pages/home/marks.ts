import type { z } from "zod";
import type { AnswerStatus, DirectionAnswer } from "../../../answers/shared-members.ts";
import type { AssetClass } from "../../../market/instrument.ts";
import { type Html, html } from "../../../markup/html.ts";
import { BASE_FACTOR_WEIGHTS, FACTORS_BY_CLASS } from "../../../score/composite.ts";
import { SIGNAL_THRESHOLDS } from "../../../score/signal-hysteresis.ts";
import type { FullFactors } from "../../../tool/factors.ts";

/** The four factors of an instrument, from `get_factors`. */
export type FactorAnswers = FullFactors["factors"];

/** Name of a factor. */
export type FactorName = keyof FactorAnswers;

type Signal = z.infer<typeof DirectionAnswer>;

/**
 * SVG path of each signal's shape in a 10 by 10 square; with shapes, color is not the only
 * distinction.
 */
export const signalShapes: Readonly<Record<Signal, string>> = {
  LONG: "M5 1.5 9.5 8.5H.5Z",
  SHORT: "M5 8.5.5 1.5h9Z",
  WAIT: "M1 4h8v2H1Z",
};

/**
 * Whether the coverage of an instrument is below the minimum for LONG and SHORT of its class. Such
 * a score is drawn hatched and labeled as thin.
 */
function hasThinCoverage({ assetClass, coverage }: Covered): boolean {
  const { minCoverage } = SIGNAL_THRESHOLDS[assetClass];
  return minCoverage !== null && coverage < minCoverage;
}

/** An instrument's asset class and coverage in [0, 1]. */
interface Covered {
  readonly assetClass: AssetClass;
  readonly coverage: number;
}

/**
 * The signal as a word with an icon.
 *
 * @param of What the signal is of; one with thin coverage is labeled as such.
 */
export function signalMark(signal: Signal, of?: Covered): Html {
  const thin = of !== undefined && hasThinCoverage(of);
  return html`<span class="signal ${signal.toLowerCase()}${thin && " thin"}"><svg viewBox="0 0 10 10" aria-hidden="true"><path d="${signalShapes[signal]}"/></svg>${signal}${thin && " · thin"}</span>`;
}

/**
 * A score of 0 to 100 as a bar that shows its distance from 50, the middle.
 */
export const scoreBar = (score: number | null, of: Covered): Html | false =>
  score !== null && bar(score - 50, 50, hasThinCoverage(of));

/**
 * Points of a factor that fill half a bar: the maximum distance of a score from 50. A factor can
 * exceed this if other factors offset it.
 */
export const FULL_BAR_POINTS = 50;

/** The contribution of a factor to the score, as a bar. */
export const pointsBar = (points: number): Html => bar(points, FULL_BAR_POINTS);

/**
 * A bar that starts in the middle, to the right for positive values and to the left for negative
 * ones. A truncated bar has a gap near its end.
 */
function bar(value: number, most: number, isHatched = false): Html {
  const length = Math.min(Math.abs(value), most) / (2 * most);
  const width = Number((100 * length).toFixed(1));
  const x = value < 0 ? 50 - width : 50;
  const gap =
    Math.abs(value) > most &&
    html`<rect class="gap" x="${value < 0 ? 5 : 92}" width="3" height="6"/>`;
  return html`<svg class="bar${isHatched && " thin"}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="6"/><rect class="${value < 0 ? "down" : "up"}" x="${x}" width="${width}" height="6"/>${gap}<rect class="middle" x="49.5" width="1" height="6"/></svg>`;
}

/** A score on its scale, with the thresholds of the signals of its class. */
export function scoreScale(score: number | null, assetClass: AssetClass): Html | false {
  if (score === null) return false;
  const { enterShort, exitShort, exitLong, enterLong } = SIGNAL_THRESHOLDS[assetClass];
  const ticks = [...new Set([0, enterShort, exitShort, exitLong, enterLong, 100])];
  const [from, to] = [Math.min(score, 50), Math.max(score, 50)];
  return html`<svg class="scale" aria-hidden="true"><rect class="rail" y="2" width="100%" height="10"/><rect class="${score < 50 ? "down" : "up"}" x="${from.toFixed(1)}%" y="2" width="${(to - from).toFixed(1)}%" height="10"/><rect class="middle" x="50%" width="1.5" height="14"/>${ticks.map(
    (value) =>
      html`<rect class="gap" x="${value}%" y="2" width="1.5" height="10"/><text class="${value === 0 ? "" : value === 100 ? "end" : "mid"}" x="${value}%" y="28">${value}</text>`,
  )}</svg>`;
}

/**
 * Text with the number of measured factors and the number of factors that the asset class can have.
 */
export function coverageText(assetClass: AssetClass, missing: readonly FactorName[]): string {
  const expected = FACTORS_BY_CLASS[assetClass];
  const measured = expected.filter((factor) => !missing.includes(factor));
  return `${measured.length} of ${expected.length}`;
}

/**
 * The factors of an asset class as segments whose widths are proportional to their weights; a
 * missing factor is dashed.
 */
export function coverageBar(assetClass: AssetClass, missing: readonly FactorName[]): Html {
  const weights = BASE_FACTOR_WEIGHTS[assetClass];
  const expected = FACTORS_BY_CLASS[assetClass];
  const total = expected.reduce((sum, factor) => sum + weights[factor], 0);
  let x = 0;
  const segments = expected.map((factor) => {
    const width = (100 * weights[factor]) / total;
    const place = html`x="${(x + 0.75).toFixed(1)}%" width="${(width - 1.5).toFixed(1)}%"`;
    x += width;
    return html`<rect class="${missing.includes(factor) ? "seg none" : "seg"}" ${place} y="1" height="6"/>`;
  });
  return html`<svg class="cover" aria-hidden="true">${segments}</svg>`;
}

/** Height of a sparkline in SVG units; each session is one unit wide. */
const SPARK_HEIGHT = 40;

/**
 * A sparkline of values, without an axis.
 *
 * @param name CSS class of the line.
 */
export function sparkline(
  values: readonly number[],
  { low, high }: { readonly low: number; readonly high: number },
  name: string,
): Html | false {
  if (values.length < 2) return false;
  const y = (value: number) => Math.round((SPARK_HEIGHT * (high - value)) / (high - low || 1));
  const path = values.map((value, x) => `${x} ${y(value)}`).join(" ");
  return html`<svg class="spark" viewBox="0 0 ${values.length - 1} ${SPARK_HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path class="${name}" d="M${path}"/></svg>`;
}

/** Labels of the factors, in display order. */
export const factorNames: Readonly<Record<FactorName, string>> = {
  momentum: "Momentum",
  valuation: "Valuation",
  social: "Social",
  darkpool: "Dark pool",
};

/** Labels of the statuses of a factor. */
export const factorStatusLabels: Readonly<Record<FactorAnswers[FactorName]["status"], string>> = {
  ok: "measured",
  stale: "old data",
  no_activity: "no activity",
  no_feed: "no feed",
  insufficient_data: "too little data",
};

/** Labels of the asset classes. */
export const assetClassNames: Readonly<Record<AssetClass, string>> = {
  stock: "Stock",
  etf: "Fund",
  crypto: "Coin",
};

/** Notes on answers whose status is not `ok`. */
export const answerStatusNotes: Readonly<Partial<Record<z.infer<typeof AnswerStatus>, string>>> = {
  stale: "old price",
  insufficient_data: "short history",
};
