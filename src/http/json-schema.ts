import { z } from "zod";

/**
 * JSON Schema 2020-12 of a tool's input or output, made to be read by a model: the format of an
 * instant says enough without its pattern. Outputs may gain members within a version, so theirs
 * does not forbid unknown ones.
 */
export function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...published } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (io === "output" && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
    },
  });
  return published;
}
