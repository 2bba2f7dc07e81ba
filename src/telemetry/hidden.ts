/** What stands in place of a secret. */
export const HIDDEN = "[hidden]";

/** The name and password of an address (RFC 3986 section 3.2.1). */
const USER_INFO = /(?<=:\/\/)[^\s/?#"@]+(?=@)/g;

const EMAIL = /[\w.+-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+/g;

/** What follows the name of a scheme of authentication (RFC 9110 section 11.4). */
const CREDENTIALS = /(?<=\b(?:bearer|basic|dpop) )[\w.~+/=-]+/gi;

/** The service's own secrets that can be told by how they begin. */
const PREFIXED = /\b(?:msv_(?:test|live)_|whsec_|whsk_)[\w+/=-]+/g;

/** Long runs with a digit in them: tokens, keys and codes of all kinds. A UUID is shorter. */
const OPAQUE = /\b(?=[\w-]*\d)[\w-]{40,}/g;

const RECOGNISED = [USER_INFO, EMAIL, CREDENTIALS, PREFIXED];

/** A line of the log without what can be told to be a secret or an address of a person. */
export function withoutSecrets(line: string): string {
  return RECOGNISED.reduce((text, pattern) => text.replace(pattern, HIDDEN), line);
}

/** The same for what others worded, such as messages of errors: nothing that may be a token stays. */
export function withoutTokens(text: string): string {
  return withoutSecrets(text).replace(OPAQUE, HIDDEN);
}

/** Takes given texts out, however they are encoded. @param secrets Shorter ones than 6 characters are
 *  left: they would be found by chance. */
export function withoutKnown(secrets: readonly string[]): (line: string) => string {
  const forms = new Set(secrets.filter(({ length }) => length >= 6).flatMap(formsOf));
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return (line) =>
    longestFirst.reduce(
      (text, form) => (text.includes(form) ? text.replaceAll(form, HIDDEN) : text),
      line,
    );
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const encoded = (["base64", "base64url", "hex"] as const).map((name) => bytes.toString(name));
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...encoded];
}

/**
 * What a text of JSON stands for, with each text in it changed, names of members and numbers too. In
 * the JSON as a whole, what is changed could take a part of its form along.
 */
export function withTexts(json: string, change: (text: string) => string): unknown {
  return JSON.parse(json, (_name, value) => {
    if (typeof value === "string") return change(value);
    if (typeof value === "number") return change(String(value)) === String(value) ? value : HIDDEN;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [change(name), own]));
  });
}
