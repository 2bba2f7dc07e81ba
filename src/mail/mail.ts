import type { Operation } from "../store/records.ts";

/** A message to one person. */
export interface Mail {
  /** Normalised address. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** The message is of no use after this many milliseconds, and is then not sent any more. */
  readonly usefulMs: number;
}

/** Where messages are put. */
export interface Mailbox {
  /** The steps that put a message into the outbox together with what it tells of. */
  queued(mail: Mail): readonly Operation[];
}
