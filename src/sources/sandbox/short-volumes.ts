import type { Packing } from "../../market/packed-list.ts";
import type { Bar, ShortVolume } from "../../market/records.ts";
import type { Scene, Stage } from "./day-context.ts";
import { clamp, normal } from "./rng.ts";

/** Short share of off-exchange volume: mean .47, sd .08, of which a part lasts for days. */
const SHORT_RATIO = { mean: 0.47, ownSd: 0.03, levelSd: 0.05, dailySd: 0.055 } as const;
const LEVEL_DAYS = 5;

/** Published this many days after the start of the session: after the evaluation at its end. */
const SHORT_PUBLISHED_DAYS = 1.08;

/** What a short volume is made from: when, in days since the Unix epoch, and how much. */
type Draft = Pick<ShortVolume, "shortShares" | "totalShares"> & { readonly day: number };

/** Short volume of the day before, known a little after its end. */
export function shortVolumeOf({ stage, profile, day: today }: Scene, yesterday: Bar): Draft {
  const day = today - 1;
  const draw = stage.draws("short", profile.index, day);
  const level = stage.draws("shortLevel", profile.index, Math.floor(day / LEVEL_DAYS));
  const own = stage.draws("shortOwn", profile.index, 0);
  const ratio =
    SHORT_RATIO.mean +
    SHORT_RATIO.ownSd * normal(own) +
    SHORT_RATIO.levelSd * normal(level) +
    SHORT_RATIO.dailySd * normal(draw);
  const totalShares = Math.round(yesterday.volume * (0.3 + 0.1 * draw()));
  return { day, totalShares, shortShares: Math.round(totalShares * clamp(ratio, [0.1, 0.9])) };
}

/** How short volumes are kept. */
export const packedShortVolumes = ({
  dayMs,
  sessionOf,
}: Pick<Stage, "dayMs" | "sessionOf">): Packing<Draft, ShortVolume> => ({
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
