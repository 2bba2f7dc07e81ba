import { describe, expect, it } from "vitest";
import { urlFault } from "../../../src/outbound/url-policy.ts";
import { disguisedUrls, privateHosts } from "./hosts.ts";

describe("an outbound URL", () => {
  it("is rejected if its host is not public, in each of more than 60 notations", () => {
    expect(new Set(privateHosts).size).toBeGreaterThanOrEqual(60);
    for (const host of privateHosts) {
      expect(urlFault(`https://${host}/`, {}), host).toMatch(/not public|is not a URL/);
    }
    const urls = disguisedUrls(8443);
    expect(urls.filter((url) => urlFault(url, {}) === undefined)).toEqual([]);
  });

  it.each([
    "https://agent.example.com/",
    "https://agent.example.com./client.json?a=b",
    "https://AGENT.example.com:443",
    "https://agent.example.com:8443",
    "https://agent.example.com:80/",
    "https://agent.example.com:65535/",
    "https://93.184.216.34/",
    "https://[2606:4700:4700::1111]:8443/",
    "https://bücher.example.com/",
    "https://localhost.example.com/",
    "https://notlocalhost.com/",
    "https://internal.example.com/",
  ])("is accepted for a public host: %s", (url) => {
    expect(urlFault(url, {})).toBeUndefined();
  });

  it.each([
    ["not a URL", ""],
    ["not a URL", "agent.example.com"],
    ["not a URL", "https://"],
    ["not a URL", "https://a b.com/"],
    ["begin with https://", "http://agent.example.com/"],
    ["begin with https://", "file:///etc/passwd"],
    ["begin with https://", "ftp://agent.example.com/"],
    ["begin with https://", "data:text/plain,a"],
    ["begin with https://", "javascript:alert(1)"],
    ["begin with https://", "gopher://agent.example.com/"],
    ["begin with https://", "blob:https://agent.example.com/1"],
    ["credentials", "https://user@agent.example.com/"],
    ["credentials", "https://:secret@agent.example.com/"],
    ["credentials", "https://127.0.0.1@agent.example.com/"],
    ["fragment", "https://agent.example.com/#a"],
    ["port is 22", "https://agent.example.com:22/"],
    ["port is 25", "https://agent.example.com:25/"],
    ["port is 1023", "https://agent.example.com:1023/"],
    ["port is 0", "https://agent.example.com:0/"],
    ["2048 characters", `https://agent.example.com/${"a".repeat(2048)}`],
    ["2048 characters", `https://agent.example.com/${"\u4e2d".repeat(300)}`],
  ])("is rejected with the reason %j: %j", (fault, url) => {
    expect(urlFault(url, {})).toContain(fault);
  });

  it("may use only the schemes, addresses and names that the policy allows", () => {
    const policy = {
      schemes: ["https:", "http:"] as const,
      isAllowed: (address: string) => address === "10.0.0.1",
      isAllowedName: (name: string) => name === "hooks",
    };
    for (const url of [
      "http://a.com/",
      "https://10.0.0.1/",
      "https://hooks/",
      "http://hooks.:80",
    ]) {
      expect(urlFault(url, policy), url).toBeUndefined();
    }
    const others = ["https://10.0.0.2/", "https://10.0.0.10/", "http://hook/", "http://localhost/"];
    for (const url of others) expect(urlFault(url, policy), url).toContain("not public");
    expect(urlFault("ftp://a.com/", policy)).toContain("https:// or http://");
  });
});
