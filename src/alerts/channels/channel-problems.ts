import { Problem } from "../../lib/problem.ts";
import { MAX_CHANNELS_PER_ACCOUNT } from "./channel.ts";

/** The problem when a person already has the maximum number of channels. */
export const channelLimitProblem = (): Problem =>
  new Problem("alert_limit", {
    detail: `You have ${MAX_CHANNELS_PER_ACCOUNT} channels, which is the maximum.`,
    next: "Remove one to add another.",
  });

/** The problem when another channel of the person has the same name. */
export const channelNameTakenProblem = (): Problem =>
  new Problem("invalid_request", {
    detail: "name: another channel of yours has it.",
    next: "Choose another name.",
  });

/** The problem when a code is requested or entered for a channel that is already verified. */
export const channelAlreadyVerifiedProblem = (): Problem =>
  new Problem("wrong_state", {
    detail: "The channel is verified already.",
    next: "Send a test to it.",
  });

/**
 * The problem when an operation needs a verified channel, but the channel is not verified, is
 * disabled or, for a test message, is paused.
 */
export const channelNotVerifiedProblem = (): Problem =>
  new Problem("wrong_state", {
    detail: "Nothing is sent to the channel now.",
    next: "Resume it, or ask for a code and enter it.",
  });

/** The problem when the code of a channel has expired or has no attempts left. */
export const channelCodeUnusableProblem = (): Problem =>
  new Problem("wrong_state", {
    detail: "The code has expired, or was entered wrong too often.",
    next: "Ask for another code.",
  });
