import { expect, it } from "vitest";
import { readTrustedIssuers } from "../../../../src/auth/assertions/trusted-issuers.ts";
import { trustFile } from "../../../support/identity-provider.ts";

const acme = {
  name: "Acme",
  issuer: "https://login.acme.example",
  jwks_uri: "https://login.acme.example/keys",
};

async function fault(content: unknown): Promise<{ readonly file: string; readonly text: string }> {
  const file = await trustFile(typeof content === "string" ? content : JSON.stringify(content));
  const text = await readTrustedIssuers(file).then(
    () => "accepted",
    (error: Error) => error.message,
  );
  return { file, text };
}

it("the trusted issuers are read from a file", async () => {
  const local = { name: "Test", issuer: "http://localhost:1", jwks_uri: "http://127.0.0.1:1/keys" };
  const read = await readTrustedIssuers(await trustFile(JSON.stringify([acme, local])));
  expect(read.map(({ name, issuer }) => ({ name, issuer }))).toEqual([
    { name: "Acme", issuer: "https://login.acme.example" },
    { name: "Test", issuer: "http://localhost:1" },
  ]);
  expect(await readTrustedIssuers(await trustFile("[]"))).toEqual([]);
});

it.each([
  ["[", "it is not JSON"],
  [{ issuers: [] }, "is not an array of {name, issuer, jwks_uri}"],
  [[{ ...acme, issuer: "http://login.acme.example" }], "entry 1, issuer is not an https address"],
  [
    [acme, { ...acme, issuer: "https://b.example", jwks_uri: "http://10.0.0.1/" }],
    "entry 2, jwks_uri",
  ],
  [[{ ...acme, jwks_uri: "file:///etc/keys.json" }], "entry 1, jwks_uri is not an https address"],
  [
    [{ ...acme, issuer: "https://login.acme.example?a" }],
    "entry 1, issuer has a query or a fragment",
  ],
  [[{ ...acme, issuer: 7 }], "entry 1, issuer is not a string"],
  [[{ ...acme, name: "" }], "entry 1, name is empty"],
  [[{ issuer: acme.issuer, jwks_uri: acme.jwks_uri }], "entry 1, name is not a string"],
  [[{ ...acme, jwks: {} }], "entry 1"],
  [[acme, acme], "names an issuer twice"],
])(
  "an invalid file of trusted issuers is rejected with the reason (file content: %j)",
  async (content, reason) => {
    const { file, text } = await fault(content);
    expect(text).toMatch(/^TRUSTED_ISSUERS: /);
    expect(text).toContain(file);
    expect(text).toContain(reason);
  },
);

it("a file of trusted issuers with several errors is rejected with one line for each error", async () => {
  const { text } = await fault([{ ...acme, name: "", issuer: "ftp://a.example" }]);
  expect(text.split("\n")).toHaveLength(2);
});

it("a missing file of trusted issuers is reported", async () => {
  await expect(readTrustedIssuers("/nowhere/issuers.json")).rejects.toThrow("it cannot be read");
});
