import { z } from "zod";

/** A checkpoint that was seen in an earlier verification. */
const KeptSighting = z.strictObject({
  size: z.int().min(0),
  /** Root hash in base64. */
  root: z.string(),
  /** When the checkpoint was seen, Unix milliseconds by the clock of the verifier. */
  seenAt: z.int(),
});

/** A checkpoint, and who saw it. */
export interface CheckpointSighting extends z.infer<typeof KeptSighting> {
  /** Name of the witness that saw the checkpoint; absent for the verifier itself. */
  readonly by?: string;
}

/** State of a log that a verifier stores between two verifications. */
export const KnownLog = z.strictObject({
  origin: z.string(),
  /** Verifier keys (C2SP signed-note). */
  keys: z.array(z.string()).min(1),
  /** Earlier checkpoints, oldest first. */
  sightings: z.array(KeptSighting).min(1),
});
export type KnownLog = z.infer<typeof KnownLog>;

/** Maximum number of newest sightings that are stored, in addition to the first one. */
const KEPT_SIGHTINGS = 1_000;

/** The state to store after another verification. */
export function knownLogWithSighting(
  known: KnownLog | undefined,
  seen: Omit<KnownLog, "sightings">,
  sighting: CheckpointSighting,
): KnownLog {
  const before = known?.sightings ?? [];
  const isNew = before.at(-1)?.size !== sighting.size;
  const sightings = isNew ? [...before, sighting] : before;
  return {
    ...seen,
    sightings: [...sightings.slice(0, 1), ...sightings.slice(1).slice(-KEPT_SIGHTINGS)],
  };
}
