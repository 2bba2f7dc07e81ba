import { z } from "zod";
import { CHALLENGE_MESSAGE_TYPE } from "../alerts/delivery/challenge.ts";
import {
  type PublicKeyJwk,
  type SignatureHeaders,
  verifySignatures,
} from "../alerts/delivery/signing.ts";
import { parseJson } from "../lib/json.ts";
import { neutralizeText } from "../outbound/neutral-text.ts";

/** Settings for verifying and answering deliveries. */
interface WebhookReceiverOptions {
  /** Webhook secrets in the form `whsec_...`. */
  readonly secrets: readonly string[];
  readonly keys: readonly PublicKeyJwk[];
  /** Status of the response to events; 204 if `undefined`. */
  readonly failStatus: number | undefined;
  readonly now: () => Date;
}

/** An incoming webhook request. */
interface Delivery {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

/** The response to a delivery. */
interface Reply {
  readonly status: number;
  /** Response body: JSON, or empty. */
  readonly body: string;
  /** The line to print about the delivery. */
  readonly line: string;
}

/** Verifies, deduplicates and answers deliveries. */
export interface WebhookReceiver {
  receive(delivery: Delivery): Reply;
  /** Adds a secret that deliveries may be signed with. */
  trust(secret: string): void;
}

/** Maximum difference between the time of a delivery and the receiver's clock, in milliseconds. */
const TOLERANCE_MS = 300_000;

/** Number of delivery ids kept in memory to recognize duplicates. */
const MAX_IDS = 10_000;

/** Creates a receiver. If there is no secret and no key, it accepts every delivery. */
export function createWebhookReceiver({
  failStatus,
  now,
  keys,
  ...first
}: WebhookReceiverOptions): WebhookReceiver {
  const secrets = [...first.secrets];
  const isKnown = createDuplicateFilter();
  return {
    trust: (secret) => void secrets.push(secret),
    receive({ headers, body }) {
      const signed = signatureOf(headers);
      const check = checked(signed, body, { secrets, keys, now: now().getTime() });
      const message = check.isAccepted ? messageIn(body) : undefined;
      const isDuplicate = message !== undefined && isKnown(signed["webhook-id"]);
      const answer = check.isAccepted ? answerTo(message, failStatus) : NOT_VERIFIED;
      const { status } = answer;
      const line = deliveryLine({ at: now(), status, check: check.text, isDuplicate, message });
      return { ...answer, line };
    },
  };
}

interface Trusted {
  readonly secrets: readonly string[];
  readonly keys: readonly PublicKeyJwk[];
  readonly now: number;
}

/** Whether a delivery is accepted, and the text to print about its signatures. */
function checked(signed: SignatureHeaders, body: Uint8Array, { now, ...trusted }: Trusted) {
  if (trusted.secrets.length + trusted.keys.length === 0) {
    return { isAccepted: true, text: "NOT VERIFIED, no secret" };
  }
  const by = verifySignatures(signed, body, trusted);
  if (by.length === 0) return { isAccepted: false, text: "NOT VERIFIED" };
  const age = Math.abs(now - Number(signed["webhook-timestamp"]) * 1000);
  if (!(age <= TOLERANCE_MS)) return { isAccepted: false, text: "NOT VERIFIED, old" };
  return { isAccepted: true, text: `verified ${by.join(" ")}` };
}

const NOT_VERIFIED = { status: 401, body: '{"error":"not verified"}' };

/**
 * The response to an accepted delivery. The challenge of a challenge message is returned; other
 * messages get an empty body.
 */
function answerTo(message: Message | undefined, failStatus = 204): Omit<Reply, "line"> {
  if (message === undefined) return { status: 400, body: '{"error":"no message"}' };
  if (message.type !== CHALLENGE_MESSAGE_TYPE) return { status: failStatus, body: "" };
  return { status: 200, body: JSON.stringify({ challenge: message.data.challenge }) };
}

function signatureOf(headers: Delivery["headers"]): SignatureHeaders {
  const field = (name: keyof SignatureHeaders) => String(headers[name] ?? "");
  return {
    "webhook-id": field("webhook-id"),
    "webhook-timestamp": field("webhook-timestamp"),
    "webhook-signature": field("webhook-signature"),
  };
}

const messageIn = (body: Uint8Array): Message | undefined =>
  Message.safeParse(parseJson(Buffer.from(body).toString())).data;

/**
 * @returns A function that records an id and returns whether it was among the last `MAX_IDS`
 * recorded ids.
 */
function createDuplicateFilter(): (id: string) => boolean {
  const ids = new Set<string>();
  return (id) => {
    const isKnown = ids.has(id);
    ids.add(id);
    const [oldest = ""] = ids;
    if (ids.size > MAX_IDS) ids.delete(oldest);
    return isKnown;
  };
}

/** Schema of the members of a message that the receiver reads; untrusted until verified. */
const Message = z.looseObject({
  type: z.string(),
  data: z.looseObject({}),
});

/** A webhook message. */
type Message = z.infer<typeof Message>;

/** The parts of the line about a delivery. */
interface LineParts {
  readonly at: Date;
  /** Status of the response. */
  readonly status: number;
  /** Result of the signature check. */
  readonly check: string;
  readonly isDuplicate: boolean;
  /** The message; `undefined` when the delivery was not accepted. */
  readonly message?: Message | undefined;
}

/** Maximum length of an untrusted value in a line, in characters. */
const MAX_VALUE_LENGTH = 40;

/** Widths of the columns, in characters. */
const WIDTHS = { check: 23, isDuplicate: 9, type: 16, symbol: 12, sequence: 6 };

/**
 * One line about a delivery: time (UTC), status and result of the signature check; for an accepted
 * delivery also whether it is a duplicate, and its content.
 */
function deliveryLine({ at, status, check, isDuplicate, message }: LineParts): string {
  const time = at.toISOString().slice(11, 19);
  const start = [time, String(status), check.padEnd(WIDTHS.check)];
  const newness = (isDuplicate ? "duplicate" : "new").padEnd(WIDTHS.isDuplicate);
  const content = message === undefined ? [] : [newness, ...wordsOf(message)];
  return [...start, ...content].join("  ").trimEnd();
}

function wordsOf({ type, data }: Message): readonly string[] {
  const { symbol, sequence, previousSignal, signal, severity, z, previousScore, score } = data;
  const { previousMethodVersion, methodVersion } = data;
  return [
    cell(type, WIDTHS.type),
    cell(symbol, WIDTHS.symbol),
    cell(sequence, WIDTHS.sequence, "#"),
    changeOf(previousSignal, signal),
    cell(severity),
    cell(z, 0, "z "),
    score === undefined ? "" : `score ${changeOf(previousScore, score)}`,
    previousMethodVersion === undefined ? "" : changeOf(previousMethodVersion, methodVersion),
    type === CHALLENGE_MESSAGE_TYPE ? "challenge answered" : "",
  ].filter((text) => text.trim() !== "");
}

const changeOf = (before: unknown, after: unknown): string =>
  before === undefined ? cell(after) : `${cell(before)} -> ${cell(after)}`;

/** An untrusted value as a table cell without line breaks; blank when the value is missing. */
function cell(value: unknown, width = 0, before = ""): string {
  if (value === undefined || typeof value === "object") return "".padEnd(width);
  const text = neutralizeText(String(value)).replace(/\s+/g, " ").slice(0, MAX_VALUE_LENGTH);
  return `${before}${text}`.padEnd(width);
}
