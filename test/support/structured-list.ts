/** An item of a list with its parameters. */
interface Item {
  readonly value: string | number;
  readonly parameters: Readonly<Record<string, string | number>>;
}

/**
 * Bare items of RFC 9651 section 3.3 that this service's limits use: Integer (3.3.1), String
 * (3.3.3) and Token (3.3.4).
 */
const INTEGER = /^-?\d{1,15}(?![\d.])/;
const STRING = /^"(?:[ !#-[\]-~]|\\["\\])*"/;
const TOKEN = /^[A-Za-z*][!#$%&'*+\-.^_`|~:/\w]*/;
const KEY = /^;[ ]*([a-z*][a-z0-9_\-.*]*)/;
const COMMA = /^[ \t]*,[ \t]*/;

/**
 * Parses a header field value as a List (RFC 9651 section 4.2.1).
 *
 * @throws {Error} When the value is not a List; RFC 9651 requires strict parsing.
 */
export function parseList(field: string): readonly Item[] {
  const items: Item[] = [];
  let rest = field.replace(/^ +| +$/g, "");
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    const found = pattern.exec(rest) ?? undefined;
    rest = rest.slice(found?.[0].length ?? 0);
    return found;
  };
  const bare = (): string | number => {
    const [integer] = take(INTEGER) ?? [];
    if (integer !== undefined) return Number(integer);
    const [string] = take(STRING) ?? [];
    if (string !== undefined) return string.slice(1, -1).replace(/\\(.)/g, "$1");
    const [token] = take(TOKEN) ?? [];
    if (token === undefined) throw new Error(`no item at ${JSON.stringify(rest)} of ${field}`);
    return token;
  };
  do {
    const value = bare();
    const parameters: Record<string, string | number> = {};
    for (let key = take(KEY)?.[1]; key !== undefined; key = take(KEY)?.[1]) {
      if (!rest.startsWith("=")) throw new Error(`${key} has no value in ${field}`);
      rest = rest.slice(1);
      parameters[key] = bare();
    }
    items.push({ value, parameters });
  } while (take(COMMA) !== undefined);
  if (rest !== "") throw new Error(`${JSON.stringify(rest)} is left of ${field}`);
  return items;
}
