import { z } from "zod";
import { unsealedAudit } from "../../store/audit-entry.ts";
import { leases } from "../../store/lease.ts";
import { probes } from "../../store/probe.ts";
import { auditTrees, prunedAudit } from "../audit/audit-tree.ts";
import { requireJson } from "./json-text.ts";

/**
 * Collections with transient state, which would be meaningless in another store or at another time
 * and are in no export.
 */
export const COLLECTIONS_NOT_EXPORTED: readonly string[] = [
  ...[unsealedAudit, auditTrees, prunedAudit, leases, probes].map(({ name }) => name),
];

/** Maximum length of a key or group, in UTF-16 code units, as in `records.ts`. */
const MAX_NAME_LENGTH = 512;

const Name = z
  .string()
  .max(MAX_NAME_LENGTH)
  .refine((text) => !text.includes("\0"), "must not contain NUL");

const Instant = z.iso.datetime().transform((text) => Date.parse(text));

/** Schema of a record. Its key is the name of the JSON member. */
const ExportedRecord = z.strictObject({
  /** Value of the record, which can be any JSON. */
  value: z.unknown(),
  groups: z.array(Name).optional(),
  expiresAt: Instant.optional(),
  dueAt: Instant.optional(),
  consumedAt: Instant.optional(),
});

/** An exported record. Instants are milliseconds since the epoch. */
export type ExportedRecord = z.infer<typeof ExportedRecord>;

/**
 * Schema of an export without the contents of its collections. It can contain URLs of webhooks in
 * plain text, which the next start of the service seals.
 */
const Head = z.object({
  format: z.literal("market-signal-export"),
  version: z.literal(1),
  storeId: z.string().min(1),
  mode: z.enum(["sandbox", "files", "replay", "live"]),
  exportedAt: z.iso.datetime(),
  collections: z.custom<Readonly<Record<string, unknown>>>(isObject, "is no object"),
});

/** A parsed export, with collections and keys in the order of the file. */
export interface ExportDocument extends Omit<z.infer<typeof Head>, "collections"> {
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, ExportedRecord>>;
}

/**
 * Parses an export.
 *
 * @param name Name of the file, for messages.
 * @throws {Error} If the text is not an export; the message gives the file with line and column, or
 * with the path inside the document.
 */
export function parseExport(text: string, name: string): ExportDocument {
  const path: string[] = [];
  const checked = <T extends z.ZodType>(schema: T, value: unknown): z.output<T> => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const at = [...path, ...(issue?.path ?? [])].join(".") || "the document";
    throw new Error(`${name}: ${at}: ${issue?.message}. Nothing was changed.`);
  };
  const { collections, ...head } = checked(Head, requireJson(text, name));
  path.push("collections");
  // Built from entries, because zod's record schema drops a key named `__proto__`.
  const mapped = <V>(object: unknown, read: (value: unknown) => V): ReadonlyMap<string, V> => {
    const entries = Object.entries(checked(z.custom<object>(isObject, "is no object"), object));
    return new Map(
      entries.map(([key, value]) => {
        path.push(key);
        const entry = [checked(Name, key), read(value)] as const;
        path.pop();
        return entry;
      }),
    );
  };
  return {
    ...head,
    collections: mapped(collections, (records) =>
      mapped(records, (record) => checked(ExportedRecord, record)),
    ),
  };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
