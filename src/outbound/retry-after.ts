/** Matches a whole number of seconds (RFC 9110 section 10.2.3). */
const SECONDS = /^\d+$/;

/**
 * Matches all three HTTP date formats, which begin with the day of the week (RFC 9110 section
 * 5.6.7).
 */
const DATE = /^[A-Z][a-z]{2,8},? /;

/**
 * The delay that a `Retry-After` field requests (RFC 9110 section 10.2.3), in milliseconds from
 * now; 0 for a date in the past.
 *
 * @param now Current time, in milliseconds since the epoch.
 * @returns `undefined` when the field is missing or malformed.
 */
export function retryAfterMs(
  field: string | readonly string[] | undefined,
  now: number,
): number | undefined {
  if (typeof field !== "string") return undefined;
  const text = field.trim();
  if (SECONDS.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  if (!DATE.test(text)) return undefined;
  // The asctime format contains no time zone, and is always in UTC.
  const at = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
