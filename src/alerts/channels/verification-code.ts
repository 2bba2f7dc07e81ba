import { randomInt } from "node:crypto";
import { isEqualConstantTime } from "../../access/secrets.ts";
import type { Vault } from "../../keys/vault.ts";
import type { Transaction } from "../../store/transact.ts";
import { DELIVERIES_TOPIC } from "../delivery/delivery.ts";
import { type ChannelState, channelCodeEncryptionContext, type StoredChannel } from "./channel.ts";
import { queueChannelMessage, VERIFICATION_CODE_MESSAGE_TYPE } from "./own-messages.ts";
import { CHANNEL_CODE_LIFETIME_MINUTES } from "./texts.ts";

/** Number of digits of a verification code. */
const CODE_DIGITS = 6;

/** Number of wrong attempts after which a verification code is invalid. */
const MAX_TRIES = 5;

/** Lifetime of a verification code, in milliseconds. */
const CODE_MS = CHANNEL_CODE_LIFETIME_MINUTES * 60_000;

type PendingState = Extract<ChannelState, { is: "pending" }>;

/**
 * The state of a channel that must be verified, with a new code.
 *
 * @param since Milliseconds since the epoch.
 */
export function pendingState({
  channelId,
  since,
  vault,
}: {
  readonly channelId: string;
  readonly since: number;
  readonly vault: Vault;
}): PendingState {
  const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, "0");
  return {
    is: "pending",
    since,
    codeUntil: since + CODE_MS,
    triesLeft: MAX_TRIES,
    code: vault.seal(code, channelCodeEncryptionContext(channelId)),
  };
}

/** Sends a pending channel its code. */
export function sendVerificationCode(
  tx: Transaction,
  channel: Pick<StoredChannel, "key" | "value">,
): void {
  const at = channel.value.state.since;
  const content = { type: VERIFICATION_CODE_MESSAGE_TYPE, body: String(at), at, ttlMs: CODE_MS };
  queueChannelMessage(tx, channel, content);
  tx.announce(DELIVERIES_TOPIC);
}

/**
 * Whether the text that a person typed is the code of the channel; spaces and hyphens are ignored.
 */
export function isCorrectCode(
  typed: string,
  {
    code,
    channelId,
    vault,
  }: { readonly code: string; readonly channelId: string; readonly vault: Vault },
): boolean {
  const expected = vault.open(code, channelCodeEncryptionContext(channelId));
  return isEqualConstantTime(expected, typed.replace(/[\s-]/g, ""));
}

/** The state after a wrong attempt. If no attempts are left, the code is invalid. */
export function withWrongTry(state: PendingState): PendingState {
  const triesLeft = state.triesLeft - 1;
  return { ...state, triesLeft, code: triesLeft > 0 ? state.code : null };
}
