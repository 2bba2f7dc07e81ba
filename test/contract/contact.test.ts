import { beforeEach, describe, expect, it } from "vitest";
import {
  applicantFocuses,
  readApplications,
  readInquiries,
} from "../../src/principals/applications/intake-records.ts";
import { getWith, postJson } from "../support/agent.ts";
import { auditEntriesOf } from "../support/audit.ts";
import { smallMarket } from "../support/small-market.ts";
import { SANDBOX_NOW, startTestService, type TestService } from "../support/test-service.ts";
import { createWeb, headingOf, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const hello = { email: "ada@host.example", message: "Hello" };
const ada = { name: "Ada Lovelace", email: "ada@host.example" };

const inquiriesOf = ({ service }: TestService = testService) =>
  readInquiries(service.state.store.records);
const applicationsOf = ({ service }: TestService = testService) =>
  readApplications(service.state.store.records);

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Fills in the form of a page in a new browser, and submits it. */
async function send(path: "/contact" | "/apply", filled: Fields, from = base): Promise<WebPage> {
  const web = createWeb(from);
  return web.submit((await web.get(path)).form(path), filled);
}

/** The messages in the error summary, by the field to which each links. */
const errorsOf = ({ html }: WebPage) =>
  Object.fromEntries(
    Array.from(html.matchAll(/<li><a href="#(\w+)">(.*?)<\/a>/g), ([, id, text = ""]) => [
      id,
      textOf(text),
    ]),
  );

/** The text that a browser shows in the text area. */
const _messageIn = ({ html }: WebPage) => /<textarea[^>]*>\n(.*?)<\/textarea>/s.exec(html)?.[1];

describe("the contact page", () => {
  it("accepts a message and returns its reference", async () => {
    const message = "  Two lines\r\nand <3, 1 < 2 & \u{1f600}\r\n";
    const page = await send("/contact", { email: " Ada@Host.example ", message });
    expect([page.status, headingOf(page.html)]).toEqual([200, "Your message was recorded"]);
    const [reference = ""] = /inq_\w{16}/.exec(textOf(page.html)) ?? [];
    expect(textOf(page.html)).toContain("Received 21 November 2026, 05:00 UTC");
    const kept = (await inquiriesOf()).find((one) => one.reference === reference);
    expect(kept).toEqual({
      reference,
      email: "ada@host.example",
      message: "Two lines\nand <3, 1 < 2 & \u{1f600}",
      receivedAt: SANDBOX_NOW.getTime(),
    });
  });

  it("is open to everyone, and links a signed-in person to the account page", async () => {
    const page = await createWeb(base).get("/contact");
    expect([page.status, headingOf(page.html)]).toEqual([200, "Contact"]);
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.html).not.toContain("<script");
    expect(page.html).toContain('<a href="/account">Sign in</a>');
    expect(textOf(page.html)).toContain("kept for 180 days");
    const person = testService.person();
    await person.signIn();
    expect((await person.web.get("/contact")).html).toContain(
      '<a href="/account">Your account</a>',
    );
  });

  it.each([
    [
      "an empty address",
      { email: "" },
      { email: "The email address must be one email address such as name@host.example." },
    ],
    ["no address", { email: undefined }, { email: "The email address must be an email address." }],
    [
      "two addresses",
      { email: ["a@b.example", "c@d.example"] },
      { email: "The email address must be an email address." },
    ],
    ["an empty message", { message: "" }, { message: "The message must not be empty." }],
    ["no message", { message: undefined }, { message: "The message must be a string." }],
    [
      "a message that is too long",
      { message: "a".repeat(5001) },
      { message: "The message must have at most 5000 characters." },
    ],
    [
      "a message with a NUL character",
      { message: "a\u0000b" },
      { message: expect.stringContaining("must have no control characters") },
    ],
    [
      "an invalid address and an empty message",
      { email: "x", message: "" },
      { email: expect.any(String), message: expect.any(String) },
    ],
  ])("shows the form again and stores nothing for %s", async (_, wrong, errors) => {
    const before = await inquiriesOf();
    const page = await send("/contact", { ...hello, ...wrong });
    expect([page.status, errorsOf(page)]).toEqual([400, errors]);
    expect(page.html).toContain("<title>Error: Contact");
    for (const id of Object.keys(errors)) {
      expect(page.html).toMatch(new RegExp(`id="${id}"[^>]*aria-invalid="true"`));
    }
    expect(await inquiriesOf()).toEqual(before);
  });

  it("rejects exactly the messages that the API rejects", async () => {
    const texts = [
      ...["", "a", "a\tb", "a\r\nb", "\u0007", "\u2066", "<script>", "x".repeat(5000)],
      ...[
        "x".repeat(5001),
        "\u{1f600}".repeat(5000),
        "\u{1f600}".repeat(5001),
        "\u20ac".repeat(5000),
      ],
    ];
    for (const message of texts) {
      const shown = await send("/contact", { ...hello, message });
      const answered = await postJson(`${base}/api/contact`, { ...hello, message });
      // The API limits the body to 16 kB, while the form limits the number of characters.
      const isTooLarge = Buffer.byteLength(JSON.stringify({ ...hello, message })) > 16_384;
      if (isTooLarge) expect(answered.status).toBe(400);
      if (!isTooLarge) expect(shown.status, message.slice(0, 9)).toBe(answered.status);
      else expect(shown.status).toBe([...message].length > 5000 ? 400 : 200);
    }
  });

  it("accepts the form after a correction", async () => {
    const web = createWeb(base);
    const first = await web.get("/contact");
    const again = await web.submit(first.form("/contact"), { ...hello, message: "" });
    const sent = await web.submit(again.form("/contact"), hello);
    expect(headingOf(sent.html)).toBe("Your message was recorded");
  });
});

describe("the early-access page", () => {
  it("reserves a place in the queue and shows the token once, with its scopes", async () => {
    const page = await send("/apply", { ...ada, focus: "quant" });
    expect([page.status, headingOf(page.html)]).toEqual([200, "Your seat is reserved"]);
    const text = textOf(page.html);
    expect(text).toContain("Name Ada Lovelace Email address ada@host.example");
    expect(text).toContain("Who you are A quantitative researcher or developer");
    expect(text).toContain("Until 28 November 2026, 05:00 UTC it is an API key");
    const [token = ""] = /msv_\w+/.exec(text) ?? [];
    const named = ["signals:read", "factor:read", "darkpool:read"];
    for (const scope of named) expect(text).toContain(scope);
    expect(text).not.toContain("alerts:write");
    expect((await getWith(token, `${base}/api/signals?limit=1`)).status).toBe(200);
    testService.clock.now = new Date("2026-11-28T04:59:00Z");
    expect((await getWith(token, `${base}/api/signals?limit=1`)).status).toBe(200);
    testService.clock.now = new Date("2026-11-28T05:01:00Z");
    expect((await getWith(token, `${base}/api/signals?limit=1`)).status).toBe(401);
    expect(await applicationsOf()).toMatchObject([{ ...ada, focus: "quant", state: "waiting" }]);
  });

  it("states, when the queue token is not an API key, that the token only identifies the early-access application", async () => {
    const live = await startTestService({ MARKET: `files:${await smallMarket()}` });
    const page = await send("/apply", ada, live.base);
    expect(textOf(page.html)).toMatch(/queue_\w{32} Copy It identifies your application/);
    expect(textOf(page.html)).not.toMatch(/API key|msv_/);
  });

  it("offers every focus area, and an option for none", async () => {
    const own = await startTestService();
    const { html } = await createWeb(own.base).get("/apply");
    const values = Array.from(html.matchAll(/type="radio"[^>]* value="(\w*)"/g), ([, one]) => one);
    expect(values).toEqual([...applicantFocuses, ""]);
    expect(html.match(/ checked/g)).toHaveLength(1);
    for (const focus of applicantFocuses) {
      await send("/apply", { name: focus, email: `${focus}@host.example`, focus }, own.base);
    }
    await send("/apply", { ...ada, focus: undefined }, own.base);
    await send("/apply", { ...ada, email: "eve@host.example" }, own.base);
    const kept = await applicationsOf(own);
    expect(kept.map(({ focus }) => focus)).toEqual([...applicantFocuses, undefined, undefined]);
  });

  it.each([
    ["an empty name", { name: "" }, { name: "The name must have a letter or a digit." }],
    ["no name", { name: undefined }, { name: "The name must be a string." }],
    [
      "a name that is too long",
      { name: "a".repeat(101) },
      { name: "The name has at most 100 characters." },
    ],
    [
      "a name with an HTML tag",
      { name: "<b>Ada" },
      {
        name: "The name must have no markup such as <b> and no script such as javascript:x; put a space after a < or a : that is none.",
      },
    ],
    [
      "an invalid email address",
      { email: "ada" },
      { email: expect.stringContaining("The email address must be one") },
    ],
    [
      "an unknown focus area",
      { focus: "hedge" },
      { focus: "The focus must be one of retail, quant, fund, general." },
    ],
    [
      "two focus areas",
      { focus: ["quant", "fund"] },
      { focus: expect.stringContaining("The focus must be one of") },
    ],
  ])("shows the form again and stores nothing for %s", async (_, wrong, errors) => {
    const before = await applicationsOf();
    const page = await send("/apply", { ...ada, ...wrong });
    expect([page.status, errorsOf(page)]).toEqual([400, errors]);
    for (const id of Object.keys(errors)) expect(page.html).toContain(`id="${id}"`);
    expect(await applicationsOf()).toEqual(before);
  });
});

describe.each([
  ["/contact", hello, inquiriesOf],
  ["/apply", ada, applicationsOf],
] as const)("the form of %s", (path, filled, _kept) => {
  it("shares its rate limit with the API", async () => {
    const own = await startTestService({ RATE_LIMITS: "submissions=2/100000/1000000" });
    for (let time = 0; time < 3; time += 1) {
      expect((await send(path, { ...filled, email: "wrong" }, own.base)).status).toBe(400);
    }
    expect((await send(path, filled, own.base)).status).toBe(200);
    expect((await postJson(`${own.base}/api${path}`, filled)).status).toBe(200);
    const page = await send(path, filled, own.base);
    expect([page.status, headingOf(page.html)]).toEqual([429, "Too many requests"]);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(Number(page.headers.get("retry-after"))).toBeGreaterThan(3500);
    expect(textOf(page.html)).toMatch(/Try again after .*, in 60 minutes/);
    expect((await postJson(`${own.base}/api${path}`, filled)).status).toBe(429);
  });

  it("adds an audit row with the hashed IP address and without the submitted text", async () => {
    const own = await startTestService();
    await send(path, filled, own.base);
    const { store, keyring } = own.service.state;
    const entries = await auditEntriesOf(store);
    expect(entries).toContainEqual(
      expect.objectContaining({
        action: expect.stringMatching(/^(?:inquiry|application)\.received$/),
        actor: "anonymous",
        addressHash: keyring.hashAddress("127.0.0.1"),
      }),
    );
    expect(JSON.stringify(entries)).not.toMatch(/ada@|\b(Ada|Hello)\b/);
  });
});
