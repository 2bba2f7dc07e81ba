/**
 * Counts requests: whether one at `now` (Unix milliseconds) is among those that are allowed. A clock
 * that is set back starts again.
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
