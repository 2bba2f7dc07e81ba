import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A self-signed certificate of a server, and its private key, both as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Creates a self-signed certificate that is valid from 2020 to 2049.
 *
 * @param hosts DNS names and IPv4 addresses.
 */
export function createCertificate(...hosts: readonly string[]): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(OID.ecdsaWithSha256);
  const name = sequence(set(sequence(OID.commonName, der(0x0c, Buffer.from("test")))));
  // TBSCertificate, version 3 (RFC 5280 section 4.1).
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    name,
    sequence(utcTime("200101000000Z"), utcTime("491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension(OID.subjectAltName, sequence(...hosts.map(generalName))))),
  );
  const signature = sign("sha256", content, privateKey);
  const bits = der(0x03, Buffer.concat([Buffer.of(0), signature]));
  const pem = sequence(content, algorithm, bits).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Encodes an element in DER (ITU-T X.690). */
function der(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(tag, ...lengthOf(content)), content]);
}

/**
 * Encodes a length in the shortest form, the only one that DER allows (ITU-T X.690 section 10.1).
 */
function lengthOf({ length }: Buffer): readonly number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, Buffer.concat(parts));
const set = (...parts: readonly Buffer[]) => der(0x31, Buffer.concat(parts));
const utcTime = (text: string) => der(0x17, Buffer.from(text));
const extension = (id: Buffer, value: Buffer) => sequence(id, der(0x04, value));

const OID = {
  commonName: der(0x06, Buffer.of(0x55, 0x04, 0x03)),
  subjectAltName: der(0x06, Buffer.of(0x55, 0x1d, 0x11)),
  ecdsaWithSha256: der(0x06, Buffer.from("2a8648ce3d040302", "hex")),
} as const;

function generalName(host: string): Buffer {
  if (isIPv4(host)) return der(0x87, Buffer.from(host.split(".").map(Number)));
  return der(0x82, Buffer.from(host));
}
