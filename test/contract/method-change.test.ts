import { expect, it } from "vitest";
import { PROGRESS_KEY, progressRecords } from "../../src/alerts/rules/evaluation-state.ts";
import { runningMethod } from "../../src/method/running.ts";
import { replace } from "../../src/store/port/operations.ts";
import type { Person } from "../support/person.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { textOf, type WebPage } from "../support/web.ts";

const EMAIL = "holder@example.com";

/** Version that the release before 2.0.0 wrote into the store. */
const EARLIER = "1.1.0+f0dc5dcb6c4877bb";

const isNotice = (text: string) => text.includes(`, before from ${EARLIER}`);

/** Reads the progress of the alerts' leader. */
const progressIn = ({ service }: TestService) =>
  service.state.store.records.get(progressRecords, PROGRESS_KEY);

async function signedIn(testService: TestService): Promise<Person> {
  const person = testService.person(EMAIL);
  await person.signIn();
  return person;
}

/** Creates an alert whose events go to the person's own mailbox, as the form proposes. */
async function makeAlert({ web }: Person): Promise<WebPage> {
  const form = (await web.get("/account/alerts/new")).form("/account/alerts");
  return web.submit(form, { symbols: "ALDER.SIM" });
}

it("a holder of an alert is told once of a switch of the method, by mail and on its page", async () => {
  const before = await startTestService();
  const { pathname } = (await makeAlert(await signedIn(before))).url;
  await expect.poll(async () => (await progressIn(before))?.value.methodVersion).toBeDefined();
  const progress = await progressIn(before);
  if (progress === undefined) throw new Error("no progress");
  const value = { ...progress.value, methodVersion: EARLIER };
  const { records } = before.service.state.store;
  expect(await records.commit([replace(progressRecords, progress, { value })])).toBe(true);
  await before.stop();

  const told = async (testService: TestService) =>
    (await testService.emailsTo(EMAIL)).filter(isNotice);
  let after = await startTestService({ DATA_DIR: before.folder });
  await expect.poll(() => told(after)).toHaveLength(1);
  const [mail] = await told(after);
  expect(mail).toContain("The score of a stock is now its percentile among the stocks");
  const later = (await makeAlert(await signedIn(after))).url.pathname;
  await after.stop();

  after = await startTestService({ DATA_DIR: before.folder });
  const { until = 0 } = (await progressIn(after))?.value ?? {};
  await after.advanceTo(new Date(after.clock.now.getTime() + 60_000));
  await expect.poll(async () => (await progressIn(after))?.value.until).toBeGreaterThan(until);
  expect(await told(after)).toHaveLength(1);
  const { web } = await signedIn(after);
  const row = `– Method ${runningMethod().version}, was ${EARLIER}`;
  expect(textOf((await web.get(pathname)).html).split(row)).toHaveLength(2);
  expect(textOf((await web.get(later)).html)).not.toContain(row);
});
