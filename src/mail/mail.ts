import type { Operation } from "../store/port/records.ts";
import type { Email } from "./email.ts";

/** A message to one person. */
export interface Mail extends Readonly<Email> {
  /** The message is of no use after this many milliseconds, and is then not sent any more. One that
   *  is of no use from the start, 0, costs the same work and reaches nobody. */
  readonly usefulMs: number;
  /** The message is sent after this many milliseconds at the earliest, when the worker looks by
   *  itself. Absent: at once. */
  readonly dueInMs?: number;
}

/** Where messages are put. */
export interface Mailbox {
  /** The steps that put a message into the outbox together with what it tells of. */
  queued(mail: Mail): readonly Operation[];
}
