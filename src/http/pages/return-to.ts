/** The page of a signed-in person. */
export const ACCOUNT_PATH = "/account";

/** The only places that a sign-in leads back to; everything else would be an open redirect. */
const places = [
  /^\/$/,
  /^\/market\/\w[\w.~%-]{0,59}$/,
  /^\/account$/,
  /^\/claim(?:\?(?:agent|attempt)=[\w.~%-]{1,300})?$/,
  /^\/oauth\/interaction\/[\w-]{1,64}$/,
];

/** Where a person goes after signing in, from what an address or a form says. */
export function returnTo(said: unknown): string {
  const isPlace = typeof said === "string" && places.some((place) => place.test(said));
  return isPlace ? said : ACCOUNT_PATH;
}

/** Address of a sign-in page that leads back to a place. */
export function withReturn(path: "/sign-in" | "/sign-in/code", place: string): string {
  return `${path}?return_to=${encodeURIComponent(place)}`;
}
