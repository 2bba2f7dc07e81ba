import { parseCookie } from "cookie";

/** What 32 random bytes look like in URL-safe base64. */
const SECRET = /^[\w-]{43}$/;

/** The secret in a Cookie header; of several, nobody can say which is the browser's own. */
export function secretIn(header = "", name: string): string | undefined {
  const isNamed = (part: string) => part.trimStart().startsWith(`${name}=`);
  if (header.split(";").filter(isNamed).length !== 1) return undefined;
  const secret = parseCookie(header)[name];
  return secret !== undefined && SECRET.test(secret) ? secret : undefined;
}
