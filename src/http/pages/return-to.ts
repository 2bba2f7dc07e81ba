/** Path of the account page. */
export const ACCOUNT_PATH = "/account";

/** Allowed return targets after a sign-in; any other would be an open redirect. */
const allowedTargets = [
  /^\/$/,
  /^\/market\/\w[\w.~%-]{0,59}$/,
  /^\/account$/,
  /^\/account\/(?:alerts|watchlists)\/new(?:\?(?:symbols|watchlist)=[\w.~%,+-]{1,300})?$/,
  /^\/account\/alerts\/alert_\w{16}(?:\/edit)?$/,
  /^\/claim(?:\?(?:agent|attempt)=[\w.~%-]{1,300})?$/,
  /^\/oauth\/interaction\/[\w-]{1,64}$/,
];

/** The return target after a sign-in, from a query or a form; the account page if it is not
 *  allowed. */
export function returnTo(target: unknown): string {
  const isAllowed =
    typeof target === "string" && allowedTargets.some((pattern) => pattern.test(target));
  return isAllowed ? target : ACCOUNT_PATH;
}

/** URL of a sign-in page with a return target. */
export function withReturn(path: "/sign-in" | "/sign-in/code", target: string): string {
  return `${path}?return_to=${encodeURIComponent(target)}`;
}
