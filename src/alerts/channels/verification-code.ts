import { MAX_CODE_TRIES, newOneTimeCode, typedCode } from "../../access/one-time-code.ts";
import { isEqualConstantTime } from "../../access/secrets.ts";
import type { Vault } from "../../keys/vault.ts";
import type { Transaction } from "../../store/transact.ts";
import { DELIVERIES_TOPIC } from "../delivery/delivery.ts";
import { type ChannelState, channelCodeEncryptionContext, type StoredChannel } from "./channel.ts";
import { queueChannelMessage, VERIFICATION_CODE_MESSAGE_TYPE } from "./own-messages.ts";
import { CHANNEL_CODE_LIFETIME_MINUTES } from "./texts.ts";

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
  return {
    is: "pending",
    since,
    codeUntil: since + CODE_MS,
    triesLeft: MAX_CODE_TRIES,
    code: vault.seal(newOneTimeCode(), channelCodeEncryptionContext(channelId)),
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

/** Whether the text that a person typed is the code of the channel. */
export function isCorrectCode(
  typed: string,
  {
    code,
    channelId,
    vault,
  }: { readonly code: string; readonly channelId: string; readonly vault: Vault },
): boolean {
  const expected = vault.open(code, channelCodeEncryptionContext(channelId));
  return isEqualConstantTime(expected, typedCode(typed));
}

/** The state after a wrong attempt. If no attempts are left, the code is invalid. */
export function withWrongTry(state: PendingState): PendingState {
  const triesLeft = state.triesLeft - 1;
  return { ...state, triesLeft, code: triesLeft > 0 ? state.code : null };
}
