import { z } from "zod";

/** Format of REPLAY: two dates or instants, and a speed in market days per second. */
const REPLAY = /^([^/@]+)\/([^/@]+)@(\d{1,3}(?:\.\d{1,6})?)$/;

/** Allowed speeds in market days per second; real time is 0.0000116. */
const SPEED = { min: 0.00001, max: 100 } as const;

const DateOrInstant = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Description of the REPLAY format, for the error message. */
export const REPLAY_SYNTAX = `<from>/<to>@<days per second> such as 2014-01-02/2014-12-31@2: two dates or instants, the earlier first, and a number from ${SPEED.min.toFixed(5)} to ${SPEED.max}`;

/** A period of history and the speed of its replay. */
export interface ReplaySettings {
  /** First instant, Unix milliseconds. */
  readonly from: number;
  /** Last instant, Unix milliseconds, later than `from`. */
  readonly to: number;
  /** Replay speed in market days of 24 hours per second, from 0.00001 to 100. */
  readonly daysPerSecond: number;
}

/**
 * Parses REPLAY; a date means 00:00 UTC.
 * @returns `undefined` when the text is malformed.
 */
export function parseReplay(text: string): ReplaySettings | undefined {
  const [, from, to, speed] = REPLAY.exec(text) ?? [];
  if (!DateOrInstant.safeParse(from).success || !DateOrInstant.safeParse(to).success) return;
  const replay = {
    from: Date.parse(from as string),
    to: Date.parse(to as string),
    daysPerSecond: Number(speed),
  };
  const { from: start, to: end, daysPerSecond } = replay;
  const isPlayable = daysPerSecond >= SPEED.min && daysPerSecond <= SPEED.max && start < end;
  return isPlayable ? replay : undefined;
}
