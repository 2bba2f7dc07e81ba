/**
 * Creates a sliding-window rate limiter. The function returns whether a request at `now` (Unix
 * milliseconds) is within the limit; a clock that goes back resets it.
 */
export function allowance(requests: number, perMs: number): (now: number) => boolean {
  let asked: number[] = [];
  return (now) => {
    asked = asked.filter((at) => at > now - perMs && at <= now);
    if (asked.length >= requests) return false;
    asked.push(now);
    return true;
  };
}
