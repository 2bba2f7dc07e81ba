import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { atFileEnd } from "./file-end.ts";

/** Connects an MCP client with a bearer token; it closes after the last test of the file. */
export async function connectMcp(base: string, token: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit }));
  atFileEnd(() => client.close());
  return client;
}

/** The text of a tool result. */
export function textOf(answer: { readonly content?: unknown }): string {
  const [first] = answer.content as { readonly type: string; readonly text: string }[];
  if (first?.type !== "text") throw new Error("the answer has no text");
  return first.text;
}
