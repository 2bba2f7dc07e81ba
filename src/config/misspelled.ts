import { distance } from "fastest-levenshtein";

/**
 * Minimum length of the names that are compared, in letters and digits. Shorter settings (`HOST`,
 * `PORT`, `SEED`) differ by a letter or two from names that every system has.
 */
const MIN_LENGTH = 6;

/** Length in letters and digits from which two typing errors count as the same name. */
const LONG = 9;

/** A name of an environment variable as people write it. */
const NAME = /^\w[\w-]*$/;

/**
 * Finds the setting that a variable is a misspelling of: a name with another case or without
 * underscores, with one letter too many, too few or wrong, with two letters exchanged, or in a long
 * name with two such errors.
 *
 * @param name Name of a variable that is no setting.
 * @param settings Names of the settings.
 * @returns The nearest setting; `undefined` if the name belongs to another program.
 */
export function misspelledSetting(name: string, settings: readonly string[]): string | undefined {
  const written = lettersOf(name);
  if (!NAME.test(name) || written.length < MIN_LENGTH) return undefined;
  return settings
    .filter((setting) => isNear(written, lettersOf(setting)))
    .toSorted((one, other) => errorsIn(written, one) - errorsIn(written, other))
    .at(0);
}

const lettersOf = (name: string): string => name.replaceAll(/[_-]/g, "").toLowerCase();

const errorsIn = (written: string, setting: string): number =>
  distance(written, lettersOf(setting));

function isNear(written: string, meant: string): boolean {
  if (meant.length < MIN_LENGTH) return false;
  const errors = distance(written, meant);
  const isExchange = sorted(written) === sorted(meant);
  return errors <= 1 || (errors === 2 && (isExchange || meant.length >= LONG));
}

const sorted = (text: string): string => [...text].sort().join("");
