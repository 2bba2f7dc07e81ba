import { lexicon, phraseStarts, UNKNOWN, type Entry } from "./lexicon.ts";
import { comparison } from "./lexicon/figures.ts";
import type { Role } from "./lexicon/grammar.ts";
import { ADDRESS, bounded, isBreak, tokensOf } from "./lexicon/tokens.ts";

/** Words before a verdict where a negation turns it, and around a verb where a noun counts. */
const WINDOW = 3;

/** What a negation does to a verdict: "not good" is milder than "bad". */
const NEGATED = -0.6;
const CONCEDED = Number(process.env.CONCEDED ?? -0.3);
const ORIGIN = Number(process.env.ORIGIN ?? 0);
const CMP = Number(process.env.CMP ?? 2);
const FT = Number(process.env.FT ?? 1);
const BUT = Number(process.env.BUT ?? 1);
const LINK = process.env.LINK !== "0";
const Q = Number(process.env.Q ?? 1);

/** |valence| of a signed percentage. */
const PERCENT_VALENCE = 2;

/** |valence| of a bad quantity that moves: debt that rose, a loss that narrowed. */
const DIRECTED_VALENCE = 2;

/** Squared sum of valences at which |polarity| is 1/sqrt(2). */
const HALFWAY = 6;

/** What two copies of a message may differ in, besides letter case and white space. */
const COPY_NOISE = new RegExp(String.raw`${ADDRESS}|^\s*rt\b|@\w+:?|\d`, "gu");

const BREAK: Entry = { valence: 0, roles: new Set(), scale: 1 };

export function polarity(text: string): number {
  const tokens = tokensOf(text);
  const units = unitsOf(tokens);
  let sum = 0;
  for (let at = 0; at < units.length; at++) {
    const valence = verdict(units, at);
    if (valence !== 0) sum += valence * context(units, at);
  }
  if (Q !== 1 && tokens.includes("?")) sum *= Q;
  return sum / Math.sqrt(sum * sum + HALFWAY);
}

export function normalisedText(text: string): string {
  return bounded(text).replace(COPY_NOISE, "").replace(/\s+/gu, " ").trim();
}

function unitsOf(tokens: readonly string[]): readonly Entry[] {
  const units: Entry[] = [];
  let at = 0;
  while (at < tokens.length) {
    const { length, entry } = phrase(tokens, at) ?? { length: 1, entry: single(tokens, at) };
    units.push(entry);
    at += length;
  }
  return units;
}

function phrase(tokens: readonly string[], at: number) {
  const [first = "", second, third] = [tokens[at], tokens[at + 1], tokens[at + 2]];
  if (second === undefined || !phraseStarts.has(first)) return undefined;
  const pair = `${first}_${second}`;
  const ofThree = lexicon.get(`${pair}_${third}`);
  if (ofThree !== undefined) return { length: 3, entry: ofThree };
  const ofTwo = lexicon.get(pair);
  return ofTwo === undefined ? undefined : { length: 2, entry: ofTwo };
}

function single(tokens: readonly string[], at: number): Entry {
  const token = tokens[at] ?? "";
  if (isBreak(token)) return BREAK;
  if (token.endsWith("%")) return { ...UNKNOWN, valence: percentage(token) };
  if (token === "vs" || token === "versus")
    return { ...UNKNOWN, valence: CMP * comparison(tokens, at), roles: figures };
  if (token === "from")
    return { ...(lexicon.get(token) ?? UNKNOWN), valence: FT * comparison(tokens, at) };
  return lexicon.get(token) ?? stretched(token);
}
const figures: ReadonlySet<Role> = new Set(["rise"]);

/** "sooo" and "moooon" are written for "so" and "moon". */
function stretched(token: string): Entry {
  if (!/([a-z])\1\1/u.test(token)) return UNKNOWN;
  const twice = lexicon.get(token.replace(/([a-z])\1{2,}/gu, "$1$1"));
  return twice ?? lexicon.get(token.replace(/([a-z])\1{2,}/gu, "$1")) ?? UNKNOWN;
}

function percentage(token: string): number {
  if (token.startsWith("+")) return PERCENT_VALENCE;
  return /^[−-]/u.test(token) ? -PERCENT_VALENCE : 0;
}

function verdict(units: readonly Entry[], at: number): number {
  const { roles, valence } = units[at] ?? UNKNOWN;
  if (roles.size === 0) return valence < 0 && near(units, at, "rival") ? -valence : valence;
  if (roles.has("burden")) return near(units, at, "fall") ? 0 : valence;
  if (roles.has("rise") && near(units, at, "burden")) return valence === 0 ? 0 : -Math.sign(valence) * DIRECTED_VALENCE;
  if (roles.has("fall") && near(units, at, "burden")) return DIRECTED_VALENCE;
  return valence;
}

function near(units: readonly Entry[], at: number, role: Role): boolean {
  for (let distance = 1; distance <= WINDOW; distance++) {
    const unit = units[at - distance];
    if (unit === undefined || unit === BREAK || (LINK && unit.roles.has("link"))) break;
    if (unit.roles.has(role)) return true;
  }
  for (let distance = 1; distance <= WINDOW; distance++) {
    const unit = units[at + distance];
    if (unit === undefined || unit === BREAK || (LINK && unit.roles.has("link"))) break;
    if (unit.roles.has(role)) return true;
  }
  return false;
}

function context(units: readonly Entry[], at: number): number {
  let factor = units[at - 1]?.scale ?? 1;
  for (let distance = 1; distance <= WINDOW; distance++) {
    const unit = units[at - distance];
    if (unit === undefined || unit === BREAK) break;
    if (unit.roles.has("negation")) factor *= NEGATED;
    if (unit.roles.has("origin")) factor *= ORIGIN;
  }
  for (let distance = 1; distance <= 6; distance++) {
    const unit = units[at - distance];
    if (unit === undefined || unit === BREAK) break;
    if (unit.roles.has("concession")) factor *= CONCEDED;
  }
  return factor;
}
