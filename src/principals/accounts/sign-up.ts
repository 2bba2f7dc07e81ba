import type { SignUpMode } from "../../access/sign-up-mode.ts";
import { paths } from "../../lib/paths.ts";

/** What the operator, who may be the person, can do to let somebody in. */
const OPERATOR_ADVICE =
  "Whoever operates the service decides with the setting SIGN_UP, and accepts applications by market-signal admin applications accept.";

/** What an agent passes on to the operator, apart from what it says to its person. */
export const operatorsNote = (signUp: SignUpMode): string =>
  signUp === "open" ? "" : OPERATOR_ADVICE;

/**
 * Who can sign in and therefore claim an agent, and what everybody else has to do first, in words
 * that an agent can pass on to its person.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export const claimantsNote = (signUp: SignUpMode, baseUrl: string): string =>
  ({
    open: "Anyone with an email address can sign in there.",
    applications: `Only people who have an account, or whose application the operator accepted, can sign in there. Otherwise apply at ${baseUrl}${paths.apply}; when the operator has accepted you, tell me, and I give you a new code.`,
    closed: `Only people who have an account can sign in there: no new accounts are created. Otherwise ask the operator at ${baseUrl}${paths.contactPage}.`,
  })[signUp];
