import { z } from "zod";
import { LIVE_CLAIM, LIVE_CLAIM_VERDICTS, type LiveClaimFigures } from "../grading/live-claim.ts";
import type { ServedClaim, TrackRecord } from "../grading/log-record.ts";
import {
  type DatedVerdict,
  EXCLUSION_REASONS,
  TRACK_RECORD_VERDICTS,
  type TrackRecordFigures,
} from "../grading/track-record.ts";
import { AssetClass } from "../market/instrument.ts";
import { type DataSource, MarketMode } from "../market/market.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { InstantAnswer, isoInstant } from "./shared-members.ts";

const Estimate = z.object({ value: z.number(), low: z.number(), high: z.number() });
const Count = z.number();
const Share = z.number();
const Verdict = z.enum(TRACK_RECORD_VERDICTS);

const ClassRecord = z.object({
  assetClass: AssetClass,
  horizon: Count.describe("Sessions."),
  methodHash: z.string().describe("Each method is graded apart, the newest first."),
  isHeadline: z.boolean().describe("Verdicts are on this horizon."),
  from: InstantAnswer.nullable().describe("Close of the first graded session; null: nothing yet."),
  to: InstantAnswer.nullable(),
  expectedAt: InstantAnswer.nullable().describe("While from is null: when there can be something."),
  runs: Count.describe("Graded sessions."),
  lateRuns: Count.describe("Not graded: logged after their returns had begun."),
  periods: z.number().describe("runs / horizon: periods that do not overlap."),
  calls: z.object({ long: Count, short: Count, wait: Count }),
  meanExcess: Estimate.nullable().describe(
    "Mean log return of LONG and SHORT beyond the mean of all instruments, with its 95 % interval.",
  ),
  meanReturn: z
    .number()
    .nullable()
    .describe(
      "The same without subtracting that mean. SHORT has its sign turned here and in hitRate.",
    ),
  hitRate: Share.nullable(),
  alwaysLong: z.number().nullable().describe("Mean return of LONG on everything."),
  shuffled: z
    .object({ low: z.number(), high: z.number() })
    .nullable()
    .describe("meanExcess of the same signals shuffled, in 95 % of cases."),
  ic: Estimate.extend({ t: z.number() })
    .nullable()
    .describe("Mean rank correlation of score and return; t by Newey and West."),
  ranges: z
    .array(z.object({ probability: z.number(), coverage: Share }))
    .describe("Share of the returns within the published ranges."),
  fallSkill: z.number().nullable().describe("Brier skill of the chance of a fall."),
  excluded: z.record(z.enum(EXCLUSION_REASONS), Count).describe("Statements, by reason."),
  bySignal: z.array(
    z.object({
      signal: z.enum(DIRECTIONS),
      statements: Count,
      meanReturn: z.number().nullable(),
      meanExcess: Estimate.nullable().describe("SHORT keeps its sign here: below 0 is right."),
    }),
  ),
  bySector: z.array(
    z.object({
      sector: z.string().nullable(),
      long: Count,
      short: Count,
      wait: Count,
      meanExcess: z.number().nullable(),
      ic: z.number().nullable().describe("Within the sector."),
    }),
  ),
  verdicts: z.array(
    z.object({
      at: InstantAnswer,
      verdict: Verdict,
      isFinal: z.boolean().describe("false: late or corrected prices may still change it."),
    }),
  ),
  nextVerdictAt: InstantAnswer.nullable(),
});

const ClaimEstimate = Estimate.extend({ dates: Count, t: z.number() })
  .nullable()
  .describe("Mean neutral rank correlation over dates, with its 95 % interval.");

const Claim = z.object({
  methodHash: z.string(),
  assetClass: AssetClass,
  horizon: Count,
  estimator: z.string().describe("Its formula stands in the entry `claim` of the log."),
  registeredAt: InstantAnswer,
  score: ClaimEstimate,
  candidate: ClaimEstimate,
  verdict: z
    .enum(LIVE_CLAIM_VERDICTS)
    .describe("The last one given; insufficient_data until the first date."),
  verdicts: z.array(
    z.object({ at: InstantAnswer, verdict: z.enum(LIVE_CLAIM_VERDICTS), isFinal: z.boolean() }),
  ),
  nextVerdictAt: InstantAnswer.nullable(),
});

/** How the logged signals turned out. */
export const TrackRecordAnswer = z.object({
  market: MarketMode,
  simulated: z.boolean(),
  origin: z.string().describe("The log in which every statement and outcome stands."),
  beganAt: InstantAnswer,
  size: Count.describe("Entries of the log that the figures are made of."),
  records: z.array(ClassRecord),
  claims: z
    .array(Claim)
    .describe("What is claimed of the live score, registered before the runs that judge it."),
  note: z.string().optional().describe("Where a verdict is as long as the log has none."),
});
export type TrackRecordAnswer = z.infer<typeof TrackRecordAnswer>;

/**
 * Whether a verdict can no longer change, because all logged signals from before the date of the
 * verdict are settled.
 */
export const isFinalVerdict = (
  { at }: Pick<DatedVerdict, "at">,
  { openSince }: Pick<TrackRecord["records"][number], "openSince">,
): boolean => openSince === null || openSince >= at;

/** Renders the figures of a track record. */
export const trackRecordFiguresAnswer = ({
  twins,
  from,
  to,
  ranges,
  bySignal,
  bySector,
  ...others
}: TrackRecordFigures) => ({
  ...others,
  from: instantOrNull(from),
  to: instantOrNull(to),
  alwaysLong: twins.alwaysLong,
  shuffled: twins.shuffled,
  ranges: [...ranges],
  bySignal: [...bySignal],
  bySector: [...bySector],
});

/**
 * Renders the figures of a claim.
 *
 * @param now On the market's clock, Unix milliseconds.
 */
export function claimAnswer(
  { methodHash, terms, score, candidate, verdicts, openSince }: ServedClaim,
  now: number,
): z.input<typeof Claim> {
  const { assetClass, horizon, registeredAt, looks } = terms;
  return {
    methodHash,
    assetClass,
    horizon,
    estimator: LIVE_CLAIM.estimator.name,
    registeredAt: isoInstant(registeredAt),
    score,
    candidate,
    verdict: currentVerdict({ verdicts }),
    verdicts: verdicts.map(({ at, verdict }) => ({
      at: isoInstant(at),
      verdict,
      isFinal: isFinalVerdict({ at }, { openSince }),
    })),
    nextVerdictAt: instantOrNull(looks.find(({ at }) => at > now)?.at ?? null),
  };
}

/** The last verdict on a claim; `insufficient_data` until the first date. */
export const currentVerdict = ({ verdicts }: Pick<LiveClaimFigures, "verdicts">) =>
  verdicts.at(-1)?.verdict ?? "insufficient_data";

/** The sentence that says where the verdict of the backtest is published. */
export const BACKTEST_VERDICT_NOTE =
  "That of the backtest is the member evidence of get_signal (GET /api/signals).";

/** Renders the track record of one asset class, or of all classes that have one. */
export function trackRecordAnswer(
  { origin, beganAt, size, terms, records, claims }: TrackRecord,
  { mode, source, now }: { mode: MarketMode; source: DataSource; now: number },
  assetClass: AssetClass | undefined,
): z.input<typeof TrackRecordAnswer> {
  const wanted = records.filter(
    ({ figures }) => assetClass === undefined || figures.assetClass === assetClass,
  );
  return {
    market: mode,
    simulated: source.simulated,
    origin,
    beganAt: isoInstant(beganAt),
    size,
    ...(wanted.every(({ verdicts }) => verdicts.length === 0) && {
      note: `The log has no verdict yet. ${BACKTEST_VERDICT_NOTE}`,
    }),
    claims: claims
      .filter(({ terms: of }) => assetClass === undefined || of.assetClass === assetClass)
      .map((claim) => claimAnswer(claim, now)),
    records: wanted.map(({ methodHash, figures, verdicts, expectedAt, openSince }) => {
      const isHeadline = terms.headline[figures.assetClass] === figures.horizon;
      const next = isHeadline ? terms.verdictDates.find((at) => at > now) : undefined;
      return {
        methodHash,
        ...trackRecordFiguresAnswer(figures),
        isHeadline,
        expectedAt: figures.from === null ? isoInstant(expectedAt) : null,
        verdicts: verdicts.map((one) => ({
          at: isoInstant(one.at),
          verdict: one.verdict,
          isFinal: isFinalVerdict(one, { openSince }),
        })),
        nextVerdictAt: instantOrNull(next ?? null),
      };
    }),
  };
}

const instantOrNull = (at: number | null): string | null => (at === null ? null : isoInstant(at));
