import { describe, expect, it } from "vitest";
import { postJson, type RegisteredAgent, register } from "../support/agent.ts";
import { addChannel, enterChannelCode, mailbox } from "../support/channel-pages.ts";
import type { UserTokens } from "../support/person.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";

/** Starts a service with strict limits on guessing. */
const strict = (more: Readonly<Record<string, string>> = {}) =>
  startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} guesses=3/100000/1000000`, ...more });

type Agent = RegisteredAgent & { readonly claim: { readonly code: string } };

const newAgent = async ({ base }: TestService) => (await register(base)) as Agent;

/** Sends a claim code as a person. */
const claim = (
  { base }: TestService,
  { client_id: agent_id }: Agent,
  guess: { readonly code: string; readonly by: UserTokens },
) =>
  postJson(
    `${base}/oauth/claim`,
    { agent_id, claim_code: guess.code },
    { authorization: `Bearer ${guess.by.access_token}` },
  );

/** The wait that a 429 answer requests, in minutes; 0 for any other answer. */
const waitOf = ({ status, headers }: Response): number =>
  status === 429 ? Math.round(Number(headers.get("retry-after")) / 60) : 0;

describe("a caller who guesses claim codes", () => {
  it("is locked out, even after a restart, while others at the address are not", async () => {
    const testService = await strict();
    const [attacker, owner] = [
      await testService.person().tokens(),
      await testService.person().tokens(),
    ];
    const agent = await newAgent(testService);
    // Guesses codes of another agent, so that the tested agent's code stays valid.
    const other = await newAgent(testService);
    const guess = () => claim(testService, other, { code: "00000000", by: attacker });

    const guesses = [await guess(), await guess(), await guess()];
    expect(guesses.map(({ status }) => status)).toEqual([400, 400, 400]);
    const right = { code: agent.claim.code, by: attacker };
    expect(waitOf(await claim(testService, agent, right))).toBe(15);

    await testService.stop();
    const again = await strict({ DATA_DIR: testService.folder, BASE_URL: testService.base });
    expect(waitOf(await claim(again, agent, right))).toBe(15);
    const theirs = await claim(again, agent, { ...right, by: owner });
    expect([theirs.status, await theirs.json()]).toMatchObject([200, { status: "claimed" }]);
  });
});

describe("a person who guesses claim codes on the page", () => {
  it("is locked out, while others at the address are not", async () => {
    const testService = await strict();
    const [attacker, neighbor] = [testService.person(), testService.person()];
    await Promise.all([attacker.signIn(), neighbor.signIn()]);
    const agent = await newAgent(testService);
    const tryCode = async ({ web }: typeof attacker, agent_id: string, code: string) => {
      const form = (await web.get("/claim")).form("/claim");
      return (await web.submit(form, { agent_id, code })).status;
    };
    const guesses = [];
    for (let nth = 0; nth < 4; nth += 1) guesses.push(await tryCode(attacker, "agt_x", "00000000"));
    expect(guesses).toEqual([400, 400, 400, 429]);
    expect(await tryCode(neighbor, agent.client_id, agent.claim.code)).toBe(200);
  });
});

describe("a caller who guesses codes of channels", () => {
  it("is locked out, whichever channel the next code is for, while others at the address are not", async () => {
    const testService = await strict();
    const withChannel = async (name: string) => {
      const person = testService.person(`${name}@example.com`);
      await person.signIn();
      const to = `${name}@channels.example`;
      await addChannel(person, mailbox(to));
      const enter = async (code: string) => (await enterChannelCode(person, code)).status;
      return { enter, codes: () => testService.codesTo(to) };
    };
    const [attacker, neighbor] = [await withChannel("attacker"), await withChannel("neighbor")];
    const guesses = [];
    for (let nth = 0; nth < 3; nth += 1) guesses.push(await attacker.enter("00000000"));
    expect(guesses).toEqual([400, 400, 400]);
    await expect.poll(async () => (await attacker.codes()).length).toBe(1);
    expect(await attacker.enter((await attacker.codes())[0] ?? "")).toBe(429);
    await expect.poll(async () => (await neighbor.codes()).length).toBe(1);
    expect(await neighbor.enter((await neighbor.codes())[0] ?? "")).toBe(200);
  });
});

describe("a caller who guesses sign-in codes", () => {
  it("is locked out of sign-in, while people who are signed in claim from the address", async () => {
    const testService = await strict();
    const tokens = await testService.person().tokens();
    const { web, email } = testService.person();
    const page = await web.submit((await web.get("/sign-in")).form("/sign-in"), { email });
    const guess = async (code: string) => web.submit(page.form("/sign-in/code"), { code });
    const guesses = [await guess("00000000"), await guess("11111111"), await guess("22222222")];
    expect(guesses.map(({ status }) => status)).toEqual([400, 400, 400]);
    const [code = ""] = await testService.codesTo(email);
    const refused = await guess(code);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBe(900);
    const agent = await newAgent(testService);
    const right = { code: agent.claim.code, by: tokens };
    expect((await claim(testService, agent, right)).status).toBe(200);
  });

  it("is not locked out by an occasional wrong code", async () => {
    const testService = await strict();
    const { web, email } = testService.person();
    const page = await web.submit((await web.get("/sign-in")).form("/sign-in"), { email });
    await web.submit(page.form("/sign-in/code"), { code: "00000000" });
    const [code = ""] = await testService.codesTo(email);
    await web.submit(page.form("/sign-in/code"), { code });
    expect((await web.get("/account")).url.pathname).toBe("/account");
  });
});
