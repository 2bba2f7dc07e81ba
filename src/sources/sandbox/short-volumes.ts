import type { RecordPacking } from "../../market/packed-list.ts";
import type { Bar, ShortVolume } from "../../market/records.ts";
import type { DayContext, SandboxWorld } from "./day-context.ts";
import { clamp, standardNormal } from "./rng.ts";

/**
 * Mean and standard deviations of the fraction of off-exchange volume that is marked short: about
 * .47 and .08 in total. `levelSd` is the part that lasts for `LEVEL_DAYS`.
 */
const SHORT_RATIO = { mean: 0.47, ownSd: 0.03, levelSd: 0.05, dailySd: 0.055 } as const;
const LEVEL_DAYS = 5;

/**
 * Time from the start of a session to the publication of its short volume, in days. More than 1,
 * because the volume is published only after the session's close has been scored.
 */
const SHORT_PUBLISHED_DAYS = 1.08;

/** A short volume as packed in memory; `day` counts from the Unix epoch. */
type PackedShortVolume = Pick<ShortVolume, "shortShares" | "totalShares"> & {
  readonly day: number;
};

/** Short volume of the previous day, published a little after the end of that day. */
export function shortVolumeOf(
  { world, profile, day: today }: DayContext,
  yesterday: Bar,
): PackedShortVolume {
  const day = today - 1;
  const rng = world.rngFor("short", profile.index, day);
  const level = world.rngFor("shortLevel", profile.index, Math.floor(day / LEVEL_DAYS));
  const own = world.rngFor("shortOwn", profile.index, 0);
  const ratio =
    SHORT_RATIO.mean +
    SHORT_RATIO.ownSd * standardNormal(own) +
    SHORT_RATIO.levelSd * standardNormal(level) +
    SHORT_RATIO.dailySd * standardNormal(rng);
  const totalShares = Math.round(yesterday.volume * (0.3 + 0.1 * rng()));
  return { day, totalShares, shortShares: Math.round(totalShares * clamp(ratio, [0.1, 0.9])) };
}

/** Binary layout of short volumes. */
export const shortVolumePacking = ({
  dayMs,
  sessionOf,
}: Pick<SandboxWorld, "dayMs" | "sessionOf">): RecordPacking<PackedShortVolume, ShortVolume> => ({
  bytes: 20,
  write(view, at, { day, shortShares, totalShares }) {
    view.setUint32(at, day);
    view.setFloat64(at + 4, shortShares);
    view.setFloat64(at + 12, totalShares);
  },
  read(view, at) {
    const day = view.getUint32(at);
    return {
      availableAt: Math.floor((day + SHORT_PUBLISHED_DAYS) * dayMs),
      session: sessionOf(day),
      shortShares: view.getFloat64(at + 4),
      totalShares: view.getFloat64(at + 12),
    };
  },
});
