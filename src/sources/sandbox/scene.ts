import type { Bar } from "../../market/records.ts";
import type { Draws } from "./draw.ts";
import type { EraOf } from "./eras.ts";
import type { Profile } from "./profile.ts";

/** What does not change while a sandbox runs. */
export interface Stage {
  readonly draws: Draws;
  readonly eraOf: EraOf;
  /** Length of a simulated day in milliseconds. */
  readonly dayMs: number;
}

/** One instrument on one simulated day, as its feeds see it. */
export interface Scene {
  readonly stage: Stage;
  readonly profile: Profile;
  /** Days since the Unix epoch. */
  readonly day: number;
  /** Label of the day's session: its first instant. */
  readonly session: string;
}

/** A scene in which trading took place. */
export interface TradedScene extends Scene {
  readonly bar: Bar;
}

/** Start of the id of a record of this scene. Short, because hundreds of thousands are kept. */
export function idPrefix({ profile, day }: Scene): string {
  return `${profile.index}.${day.toString(36)}.`;
}
