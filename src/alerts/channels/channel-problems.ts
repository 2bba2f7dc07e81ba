import { Problem } from "../../problem.ts";

/** Maximum number of channels of an account. */
export const MAX_CHANNELS = 10;

/** The problem of a person who has as many channels as they may. */
export const full = (): Problem =>
  new Problem("alert_limit", {
    detail: `You have ${MAX_CHANNELS} channels, which is the maximum.`,
    next: "Remove one to add another.",
  });

/** The problem of a name that another channel of the person has. */
export const nameTaken = (): Problem =>
  new Problem("invalid_request", {
    detail: "name: another channel of yours has it.",
    next: "Choose another name.",
  });

/** The problem of a code for a channel that needs none. */
export const verified = (): Problem =>
  new Problem("wrong_state", {
    detail: "The channel is verified already.",
    next: "Send a test to it.",
  });

/** The problem of a request to send to a channel to which nothing is sent. */
export const notVerified = (): Problem =>
  new Problem("wrong_state", {
    detail: "Nothing is sent to the channel now.",
    next: "Resume it, or ask for a code and enter it.",
  });

/** The problem of a channel whose code cannot be entered any more. */
export const codeEnded = (): Problem =>
  new Problem("wrong_state", {
    detail: "The code has expired, or was entered wrong too often.",
    next: "Ask for another code.",
  });
