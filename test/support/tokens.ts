import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

/** A tool as clients list it. */
interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** Tokens of a text, in the encoding o200k. */
export const tokensOfText = (text: string): number => countTokens(text);

/** Tokens of a value as JSON. */
export const tokensOf = (value: unknown): number => tokensOfText(JSON.stringify(value));

/** Tokens of what clients show a model of tools: name, description and input schema. `_meta`, which links
 *  tools to the app, is for clients; models do not see it, as little as output schemas. */
export const visibleTokens = (tools: readonly ListedTool[]): number =>
  tokensOf(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })));
