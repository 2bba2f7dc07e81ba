import { z } from "zod";

/** A checkpoint that was seen before. */
const KeptSighting = z.strictObject({
  size: z.int().min(0),
  /** In base64. */
  root: z.string(),
  /** Unix milliseconds, by the clock of the verifier. */
  seenAt: z.int(),
});

/** A checkpoint with who saw it. */
export interface Sighting extends z.infer<typeof KeptSighting> {
  /** Name of the witness; absent: the verifier itself. */
  readonly by?: string;
}

/** What a verifier keeps of a log between two looks. */
export const KnownLog = z.strictObject({
  origin: z.string(),
  /** Verifier keys (C2SP signed-note), as they were at the first look. */
  keys: z.array(z.string()).min(1),
  /** Oldest first. */
  sightings: z.array(KeptSighting).min(1),
});
export type KnownLog = z.infer<typeof KnownLog>;

/** Sightings that are kept: the first, and the newest of these. */
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
