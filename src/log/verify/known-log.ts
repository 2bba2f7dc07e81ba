import { z } from "zod";

/** A checkpoint that was seen before. */
const KeptSighting = z.strictObject({
  size: z.int().min(0),
  /** In base64. */
  root: z.string(),
  /** Unix milliseconds, by the clock of the verifier. */
  seenAt: z.int(),
});

/** A checkpoint with the party that saw it. */
export interface Sighting extends z.infer<typeof KeptSighting> {
  /** Name of the witness; absent for the verifier itself. */
  readonly by?: string;
}

/** State of a log that a verifier keeps between two verifications. */
export const KnownLog = z.strictObject({
  origin: z.string(),
  /** Verifier keys (C2SP signed-note). */
  keys: z.array(z.string()).min(1),
  /** Oldest first. */
  sightings: z.array(KeptSighting).min(1),
});
export type KnownLog = z.infer<typeof KnownLog>;

/** Maximum number of sightings that are kept: the first, and the newest. */
const KEPT_SIGHTINGS = 1_000;

/** The known log after another verification. */
export function withSighting(
  known: KnownLog | undefined,
  seen: Omit<KnownLog, "sightings">,
  sighting: Sighting,
): KnownLog {
  const before = known?.sightings ?? [];
  const isNew = before.at(-1)?.size !== sighting.size;
  const sightings = isNew ? [...before, sighting] : before;
  return {
    ...seen,
    sightings: [...sightings.slice(0, 1), ...sightings.slice(1).slice(-KEPT_SIGHTINGS)],
  };
}
