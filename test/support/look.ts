import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults, ImpactValue } from "axe-core";
import type { Page } from "playwright-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");

/** Saves a screenshot in the folder that `SCREENSHOTS` names, if it is set: of the whole page, or of what
 *  the window shows. */
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

/** What axe-core finds wrong with the page, or a frame of it, as it stands: rule and elements.
 *  @param impacts Severities that count; all unless given. */
export async function accessibilityFaults(
  page: Pick<Page, "evaluate">,
  impacts?: readonly ImpactValue[],
): Promise<readonly string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe);
  // Only these leave the page: what axe-core says of all other elements takes seconds to send.
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as AxeResults["violations"];
  return violations
    .filter(({ impact }) => impacts?.includes(impact ?? null) ?? true)
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
}
