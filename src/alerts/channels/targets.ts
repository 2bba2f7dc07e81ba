import { fingerprint } from "../../lib/fingerprint.ts";
import type { UrlPolicy } from "../../outbound/url-policy.ts";
import { CHAT_KINDS, type ChatTargets, chatServices } from "./services/chat-services.ts";
import { type EmailTarget, email } from "./services/email.ts";
import type { EnteredTarget, TargetFault, TargetKind } from "./services/service.ts";

/** The target of a channel, by kind of channel. */
interface ChannelTargets extends ChatTargets {
  readonly email: EmailTarget;
}

/** One of `CHANNEL_KINDS`. */
export type ChannelKind = keyof ChannelTargets;

/** Kinds of channels, in the order in which they are offered. */
export const CHANNEL_KINDS: readonly ChannelKind[] = ["email", ...CHAT_KINDS];

/** The target of a channel together with its kind. */
export type ChannelTarget<Kind extends ChannelKind = ChannelKind> = {
  readonly [K in Kind]: { readonly kind: K } & ChannelTargets[K];
}[Kind];

/** How targets are entered, shown, counted and told apart, by kind of channel. */
export const targetKinds: { readonly [K in ChannelKind]: TargetKind<ChannelTargets[K]> } = {
  ...chatServices,
  email,
};

/** The target of a channel and its kind, as a person enters them. */
export interface ChannelTargetInput extends EnteredTarget {
  readonly kind: ChannelKind;
}

/** Validates a target that a person typed; returns the target, or what is wrong with it. */
export const parseChannelTarget = (
  { kind, ...entered }: ChannelTargetInput,
  policy: UrlPolicy,
): ChannelTarget | TargetFault => targetKinds[kind].parse(entered, policy);

/** The part of a target that is not secret, for display. */
export const channelTargetHint = <Kind extends ChannelKind>(target: ChannelTarget<Kind>): string =>
  targetKinds[target.kind].hint(target);

/**
 * The URL whose host the person chose; `undefined` if the service's own hosts are the only ones.
 */
export const chosenUrl = <Kind extends ChannelKind>(
  target: ChannelTarget<Kind>,
): string | undefined => targetKinds[target.kind].chosenUrl(target);

/**
 * Unique key of a target across all accounts, independent of spelling. The key is a hash, because
 * the target may be secret.
 */
export const channelTargetKey = <Kind extends ChannelKind>(target: ChannelTarget<Kind>): string =>
  fingerprint(JSON.stringify([target.kind, targetKinds[target.kind].identity(target)]));
