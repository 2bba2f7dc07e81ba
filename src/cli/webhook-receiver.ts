import { z } from "zod";
import { CHALLENGE_TYPE } from "../alerts/delivery/challenge.ts";
import {
  type PublicKeyJwk,
  type SignatureHeaders,
  verifySignatures,
} from "../alerts/delivery/signing.ts";
import { neutralText } from "../outbound/neutral-text.ts";

/** What a receiver verifies with and does. */
export interface ReceiverOptions {
  /** `whsec_` secrets. */
  readonly secrets: readonly string[];
  readonly keys: readonly PublicKeyJwk[];
  /** Status that events are answered with, in place of 204. */
  readonly failStatus: number | undefined;
  readonly now: () => Date;
}

/** A request as it came. */
interface Arrived {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

/** What becomes of a request. */
interface Reply {
  readonly status: number;
  /** JSON, or empty. */
  readonly body: string;
  /** One line for whoever watches. */
  readonly said: string;
}

/** Takes deliveries. */
export interface Receiver {
  receive(arrived: Arrived): Reply;
  /** From now on this secret verifies, too. */
  trust(secret: string): void;
}

/** Largest difference between the clocks of sender and receiver, in milliseconds. */
const TOLERANCE_MS = 300_000;

/** Ids that are remembered, to tell duplicates. */
const REMEMBERED = 10_000;

/** Creates a receiver. While it has neither secret nor key it takes whatever comes. */
export function createReceiver({ failStatus, now, keys, ...first }: ReceiverOptions): Receiver {
  const secrets = [...first.secrets];
  const isKnown = createMemory();
  return {
    trust: (secret) => void secrets.push(secret),
    receive({ headers, body }) {
      const signed = signatureOf(headers);
      const check = checked(signed, body, { secrets, keys, now: now().getTime() });
      const message = check.isTaken ? messageIn(body) : undefined;
      const isDuplicate = message !== undefined && isKnown(signed["webhook-id"]);
      const answer = check.isTaken ? answerTo(message, failStatus) : NOT_VERIFIED;
      const { status } = answer;
      const said = deliveryLine({ at: now(), status, check: check.text, isDuplicate, message });
      return { ...answer, said };
    },
  };
}

interface Trusted {
  readonly secrets: readonly string[];
  readonly keys: readonly PublicKeyJwk[];
  readonly now: number;
}

/** Whether a delivery is taken, and what is said about its signatures. */
function checked(signed: SignatureHeaders, body: Uint8Array, { now, ...trusted }: Trusted) {
  if (trusted.secrets.length + trusted.keys.length === 0) {
    return { isTaken: true, text: "NOT VERIFIED, no secret" };
  }
  const by = verifySignatures(signed, body, trusted);
  if (by.length === 0) return { isTaken: false, text: "NOT VERIFIED" };
  const age = Math.abs(now - Number(signed["webhook-timestamp"]) * 1000);
  if (!(age <= TOLERANCE_MS)) return { isTaken: false, text: "NOT VERIFIED, old" };
  return { isTaken: true, text: `verified ${by.join(" ")}` };
}

const NOT_VERIFIED = { status: 401, body: '{"error":"not verified"}' };

/** A challenge is answered with itself, anything else without words. */
function answerTo(message: Message | undefined, failStatus = 204): Omit<Reply, "said"> {
  if (message === undefined) return { status: 400, body: '{"error":"no message"}' };
  if (message.type !== CHALLENGE_TYPE) return { status: failStatus, body: "" };
  return { status: 200, body: JSON.stringify({ challenge: message.data.challenge }) };
}

function signatureOf(headers: Arrived["headers"]): SignatureHeaders {
  const field = (name: keyof SignatureHeaders) => String(headers[name] ?? "");
  return {
    "webhook-id": field("webhook-id"),
    "webhook-timestamp": field("webhook-timestamp"),
    "webhook-signature": field("webhook-signature"),
  };
}

function messageIn(body: Uint8Array): Message | undefined {
  try {
    return Message.parse(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return undefined;
  }
}

/** Tells whether an id came before; the oldest are forgotten. */
function createMemory(): (id: string) => boolean {
  const ids = new Set<string>();
  return (id) => {
    const isKnown = ids.has(id);
    ids.add(id);
    const [oldest = ""] = ids;
    if (ids.size > REMEMBERED) ids.delete(oldest);
    return isKnown;
  };
}

/** What is read of a message; all of it is a stranger's until it is verified. */
const Message = z.looseObject({
  type: z.string(),
  data: z.looseObject({}),
});

/** A message. */
type Message = z.infer<typeof Message>;

/** What a line tells of a delivery. */
interface Noted {
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
function deliveryLine({ at, status, check, isDuplicate, message }: Noted): string {
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
