import type { CallToolResult, JSONRPCResponse } from "@modelcontextprotocol/server";

/** Results of tools as JSON text, and that text as a JSON string literal. */
const renderedResults = new WeakMap<object, { readonly json: string; readonly quoted: string }>();

/**
 * The result of a tool: an object, and its JSON as text for clients that read only text. The JSON
 * is cached per object, because many callers may get the same object.
 *
 * @param json JSON of `value`, which must not change afterwards.
 */
export function toolResult(value: object, json: string): CallToolResult {
  if (!renderedResults.has(value))
    renderedResults.set(value, { json, quoted: JSON.stringify(json) });
  const structuredContent = value as Record<string, unknown>;
  return { structuredContent, content: [{ type: "text", text: json }] };
}

/** Renders a response as JSON; a cached tool result is inserted verbatim. */
export function resultJson(response: JSONRPCResponse): string {
  if (!("result" in response)) return JSON.stringify(response);
  const { structuredContent, content, ...rest } = response.result;
  const rendered = renderedResults.get(Object(structuredContent));
  const isOneText = Array.isArray(content) && content.length === 1;
  if (rendered === undefined || !isOneText) return JSON.stringify(response);
  const { json, quoted } = rendered;
  const members = [
    `"content":[{"type":"text","text":${quoted}}],"structuredContent":${json}`,
    ...membersOf(rest),
  ];
  const { id, jsonrpc } = response;
  return `{"result":{${members.join()}},${membersOf({ jsonrpc, id }).join()}}`;
}

/**
 * The members of an object as JSON without braces, in an array; an empty array for an empty object.
 */
function membersOf(value: object): readonly string[] {
  const json = JSON.stringify(value);
  return json === "{}" ? [] : [json.slice(1, -1)];
}
