import { describe, expect, it } from "vitest";
import { urlFault } from "../../../src/outbound/url-policy.ts";
import { createWebhookPolicy } from "../../../src/outbound/webhook-policy.ts";
import { privateAddresses, privateHosts } from "./hosts.ts";

function policyWith(allowsInsecure: boolean) {
  const warnings: string[] = [];
  const policy = createWebhookPolicy({
    allowsInsecure,
    warn: (message) => warnings.push(message),
    lookup: async (name) => [`answer for ${name}`],
  });
  return { policy, warnings };
}

/** URLs of the local machine that developers use. */
const HERE = [
  "http://127.0.0.1:4000/",
  "http://127.8.8.8:4000/",
  "https://[::1]:4000/",
  "http://localhost:4000/hook",
  "http://localhost.:4000/hook",
  "http://LOCALHOST/",
  "http://app.localhost:4000/",
  "http://2130706433/",
];

describe("the webhook policy", () => {
  it("allows only public hosts over TLS by default, without a warning", () => {
    const { policy, warnings } = policyWith(false);
    for (const url of HERE) expect(urlFault(url, policy), url).toBeDefined();
    expect(urlFault("http://hooks.example.com/", policy)).toContain("https://");
    expect(urlFault("https://hooks.example.com/", policy)).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it("also allows plain HTTP and the local machine in development mode, with a warning", () => {
    const { policy, warnings } = policyWith(true);
    for (const url of HERE) expect(urlFault(url, policy), url).toBeUndefined();
    expect(urlFault("http://hooks.example.com/", policy)).toBeUndefined();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^ALLOW_INSECURE_WEBHOOKS is set: .*Development only!$/);
  });

  it("allows no private hosts other than the local machine in development mode", () => {
    const { policy } = policyWith(true);
    const isHere = (host: string) => urlFault(`http://${host}/`, policy) === undefined;
    const here = privateHosts.filter(isHere).filter((host) => !/localhost/i.test(host));
    for (const host of here) {
      expect(new URL(`http://${host}/`).hostname, host).toMatch(/^(127\.|\[::1\]$|localhost$)/);
    }
    const allowed = privateAddresses.filter((address) => policy.isAllowed?.(address));
    expect(allowed).toEqual(["127.0.0.1", "127.8.8.8", "::1"]);
    expect(isHere("localhost.example")).toBe(false);
    expect(isHere("notlocalhost")).toBe(false);
  });

  it("resolves localhost without a name server in development mode", async () => {
    const { policy } = policyWith(true);
    for (const name of ["localhost", "localhost.", "app.localhost"]) {
      expect(await policy.lookup?.(name)).toEqual(["127.0.0.1", "::1"]);
    }
    expect(await policy.lookup?.("localhost.com")).toEqual(["answer for localhost.com"]);
    const strict = policyWith(false).policy;
    expect(await strict.lookup?.("localhost")).toEqual(["answer for localhost"]);
  });
});
