/** A whole number of seconds (RFC 9110 section 10.2.3). */
const SECONDS = /^\d+$/;

/** Every form of a date begins with the day of the week (RFC 9110 section 5.6.7). */
const DATE = /^[A-Z][a-z]{2,8},? /;

/**
 * What a `Retry-After` field asks for (RFC 9110 section 10.2.3), in milliseconds from now; an
 * instant that has passed is 0.
 *
 * @param now Wall clock, milliseconds since the epoch.
 * @returns `undefined` when there is none, or none that can be read.
 */
export function retryAfterMs(
  field: string | readonly string[] | undefined,
  now: number,
): number | undefined {
  if (typeof field !== "string") return undefined;
  const text = field.trim();
  if (SECONDS.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  if (!DATE.test(text)) return undefined;
  // The oldest form does not say that it is in UTC.
  const at = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
