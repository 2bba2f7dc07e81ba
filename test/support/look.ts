import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults, ImpactValue } from "axe-core";
import type { Page } from "playwright-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");

/**
 * Saves a screenshot of the whole page or of the window to the folder in `SCREENSHOTS`; does
 * nothing if the variable is not set.
 */
export async function photograph(
  page: Page,
  name: string,
  { isWhole = true }: { readonly isWhole?: boolean } = {},
): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole });
}

/**
 * Faults that axe-core finds in a page or frame in its current state, each with the rule and the
 * elements.
 * @param impacts Severities to report; default: all.
 */
export async function accessibilityFaults(
  page: Pick<Page, "evaluate">,
  impacts?: readonly ImpactValue[],
): Promise<readonly string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe);
  // Returns only the violations: transferring axe-core's results for all other elements would take
  // seconds.
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as AxeResults["violations"];
  return violations
    .filter(({ impact }) => impacts?.includes(impact ?? null) ?? true)
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
}
