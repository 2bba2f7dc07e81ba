import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createNameLookup } from "../../../src/outbound/name-lookup.ts";

/** Codes of DNS record types (RFC 1035 section 3.2.2, RFC 3596 section 2.1). */
const [A, AAAA] = [1, 28];

const zone: Readonly<Record<string, readonly string[]>> = {
  "both.example.com": ["192.0.2.1", "192.0.2.2", "2001:db8::1"],
  "four.example.com": ["192.0.2.3"],
  "six.example.com": ["2001:db8::2"],
};

/** Starts a name server for the zone. */
async function nameServer() {
  const asked: string[] = [];
  const socket = createSocket("udp4", (query, from) => {
    const end = query.indexOf(0, 12) + 5;
    const name = nameIn(query);
    asked.push(name);
    const type = query.readUInt16BE(end - 4);
    const found = (zone[name] ?? []).filter((address) => type === (isIPv4(address) ? A : AAAA));
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(zone[name] === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(found.length, 6);
    head.writeUInt32BE(0, 8);
    const records = found.map((address) => recordOf(type, address));
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port);
  });
  onTestFinished(() => void socket.close());
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { asked, address: `127.0.0.1:${socket.address().port}` };
}

/** Reads the name in a DNS question (RFC 1035 section 4.1.2). */
function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at] !== 0; at += 1 + (query[at] ?? 0)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)));
  }
  return labels.join(".").toLowerCase();
}

/**
 * Builds a resource record that refers to the name in the question (RFC 1035 sections 4.1.3 and
 * 4.1.4).
 */
function recordOf(type: number, address: string): Buffer {
  const data = type === A ? Buffer.from(address.split(".").map(Number)) : ipv6Of(address);
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 1, 0, data.length]);
  return Buffer.concat([head, data]);
}

/** The 16 bytes of an IPv6 address that is written with "::" before its last part. */
function ipv6Of(address: string): Buffer {
  const [front = "", last = ""] = address.split("::");
  const head = front.split(":").map((part) => part.padStart(4, "0"));
  return Buffer.from(head.join("").padEnd(28, "0") + last.padStart(4, "0"), "hex");
}

describe("a DNS name lookup", () => {
  it("returns both IPv4 and IPv6 addresses", async () => {
    const { address } = await nameServer();
    const lookup = createNameLookup([address]);
    expect(await lookup("both.example.com")).toEqual(zone["both.example.com"]);
    expect(await lookup("four.example.com")).toEqual(["192.0.2.3"]);
    expect(await lookup("six.example.com")).toEqual(["2001:db8::2"]);
  });

  it("returns no address for a name that does not exist", async () => {
    const { address, asked } = await nameServer();
    expect(await createNameLookup([address])("gone.example.com")).toEqual([]);
    expect(asked).toContain("gone.example.com");
  });

  it("does not resolve local names of this machine", async () => {
    const { address } = await nameServer();
    expect(await createNameLookup([address])("ip6-localhost")).toEqual([]);
  });
});
