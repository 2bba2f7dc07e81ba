import { it } from "vitest";
import { requirements } from "../requirements.ts";

const known: ReadonlySet<string> = new Set(requirements.map(({ id }) => id));

/**
 * Defines a test that proves requirements and appends their ids to its title. The ids must be
 * literals, because the manifest's own test reads them from the source text.
 *
 * @throws {Error} During collection, for an unknown id.
 */
export function verifies(
  ids: string | readonly string[],
  title: string,
  run: () => void | Promise<void>,
): void {
  const cited = [ids].flat();
  const unknown = cited.filter((id) => !known.has(id));
  if (unknown.length > 0 || cited.length === 0) {
    throw new Error(`"${title}" cites no known requirement: ${unknown.join(", ") || "no id"}`);
  }
  it(`${title} [${cited.join(", ")}]`, run);
}
