/** The page of a signed-in person. */
export const ACCOUNT_PATH = "/account";

/** Allowed return targets after a sign-in; anything else would be an open redirect. */
const places = [
  /^\/$/,
  /^\/market\/\w[\w.~%-]{0,59}$/,
  /^\/account$/,
  /^\/claim(?:\?(?:agent|attempt)=[\w.~%-]{1,300})?$/,
  /^\/oauth\/interaction\/[\w-]{1,64}$/,
];

/** The return target after a sign-in, from a query or a form. */
export function returnTo(said: unknown): string {
  const isPlace = typeof said === "string" && places.some((place) => place.test(said));
  return isPlace ? said : ACCOUNT_PATH;
}

/** URL of a sign-in page that returns to a place. */
export function withReturn(path: "/sign-in" | "/sign-in/code", place: string): string {
  return `${path}?return_to=${encodeURIComponent(place)}`;
}
