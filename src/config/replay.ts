import { z } from "zod";

/** Two dates or instants, and how many market days pass in a second. */
const REPLAY = /^([^/@]+)\/([^/@]+)@(\d{1,3}(?:\.\d{1,6})?)$/;

/** Market days that may pass in a second: from less than one a day, which is real time, to 100. */
const SPEED = { min: 0.00001, max: 100 } as const;

const DateOrInstant = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** What a replay should look like, for the message about one that does not. */
export const REPLAY_FORM = `<from>/<to>@<days per second> such as 2014-01-02/2014-12-31@2: two dates or instants, the earlier first, and a number from ${SPEED.min.toFixed(5)} to ${SPEED.max}`;

/** History to play: an excerpt and its speed. */
export interface Replay {
  /** First instant, Unix milliseconds. */
  readonly from: number;
  /** Last instant, Unix milliseconds, later than the first. */
  readonly to: number;
  /** Market days of 24 hours that pass in a second, from 0.00001 to 100. */
  readonly daysPerSecond: number;
}

/** Reads a replay; a date stands for its 00:00 UTC. @returns `undefined` when it is none. */
export function parseReplay(text: string): Replay | undefined {
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
