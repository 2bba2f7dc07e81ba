import { z } from "zod";
import { CHALLENGE_TYPE } from "../../alerts/challenge.ts";
import { neutralText } from "../../outbound/neutral-text.ts";

/** What is read of a message; all of it is a stranger's until it is verified. */
export const Message = z.looseObject({
  type: z.string(),
  data: z.looseObject({}),
});

/** A message. */
export type Message = z.infer<typeof Message>;

/** What a line tells of a delivery. */
export interface Noted {
  readonly at: Date;
  /** Status that it was answered with. */
  readonly status: number;
  /** What the check of its signatures came to. */
  readonly check: string;
  readonly isDuplicate: boolean;
  /** `undefined` when it was not read. */
  readonly message?: Message | undefined;
}

/** Most characters of one value of a stranger. */
const LONGEST = 40;

/** Widths of the columns, in characters. */
const WIDTHS = { check: 23, isDuplicate: 9, type: 16, symbol: 12, sequence: 6 };

/** One delivery on one line: time (UTC), answer, verified or not, and when it was read, duplicate
 *  or not and what it says. */
export function deliveryLine({ at, status, check, isDuplicate, message }: Noted): string {
  const time = at.toISOString().slice(11, 19);
  const start = [time, String(status), check.padEnd(WIDTHS.check)];
  const newness = (isDuplicate ? "duplicate" : "new").padEnd(WIDTHS.isDuplicate);
  const said = message === undefined ? [] : [newness, ...wordsOf(message)];
  return [...start, ...said].join("  ").trimEnd();
}

function wordsOf({ type, data }: Message): readonly string[] {
  const { symbol, sequence, previousSignal, signal, severity, z, previousScore, score } = data;
  return [
    cell(type, WIDTHS.type),
    cell(symbol, WIDTHS.symbol),
    cell(sequence, WIDTHS.sequence, "#"),
    changeOf(previousSignal, signal),
    cell(severity),
    cell(z, 0, "z "),
    score === undefined ? "" : `score ${changeOf(previousScore, score)}`,
    type === CHALLENGE_TYPE ? "challenge answered" : "",
  ].filter((text) => text.trim() !== "");
}

const changeOf = (before: unknown, after: unknown): string =>
  before === undefined ? cell(after) : `${cell(before)} -> ${cell(after)}`;

/** A stranger's value as part of a line, which it cannot leave; blank when there is none. */
function cell(value: unknown, width = 0, before = ""): string {
  if (value === undefined || typeof value === "object") return "".padEnd(width);
  const text = neutralText(String(value)).replace(/\s+/g, " ").slice(0, LONGEST);
  return `${before}${text}`.padEnd(width);
}
