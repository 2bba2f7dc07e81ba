import type { Request } from "express";
import { submittedValue } from "./form.ts";

/** Path of the account page. */
export const ACCOUNT_PATH = "/account";

/**
 * Patterns of the paths to which a person may return after signing in; allowing any other target
 * would create an open redirect.
 */
const allowedTargets = [
  /^\/$/,
  /^\/market\/\w[\w.~%-]{0,59}$/,
  /^\/account$/,
  /^\/account\/(?:alerts|watchlists)\/new(?:\?(?:symbols|watchlist)=[\w.~%,+-]{1,300})?$/,
  /^\/account\/alerts\/alert_\w{16}(?:\/edit)?$/,
  /^\/claim(?:\?(?:agent|attempt)=[\w.~%-]{1,300})?$/,
  /^\/oauth\/interaction\/[\w-]{1,64}$/,
];

/**
 * The path to which a person returns after signing in, from a query or a form. A target that is not
 * allowed is replaced with the account page.
 */
export function safeReturnPath(target: unknown): string {
  const isAllowed =
    typeof target === "string" && allowedTargets.some((pattern) => pattern.test(target));
  return isAllowed ? target : ACCOUNT_PATH;
}

/** The path to which a person returns, from the hidden field of a form. */
export const sentReturnPath = (req: Request): string =>
  safeReturnPath(submittedValue(req, "return_to"));

/** URL of a sign-in page with a return target. */
export function withReturnPath(path: "/sign-in" | "/sign-in/code", target: string): string {
  return `${path}?return_to=${encodeURIComponent(target)}`;
}
