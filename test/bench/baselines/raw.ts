import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Answers, answerTo } from "./answers.ts";
import { type Bearer, listen } from "./bearer.ts";

/** node:http with only the bearer check, to show the minimum cost of an answer. */
export function startRaw(answers: Answers, bearer: Bearer): Promise<string> {
  return listen(
    createServer(async (req, res) => {
      if (!(await bearer.isGood(req))) return void res.writeHead(401).end();
      if (req.method === "GET") return send(res, answers[req.url ?? ""]);
      const message = JSON.parse(await textOf(req));
      send(res, answerTo(message, req.headers["mcp-protocol-version"], answers));
    }),
  );
}

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function send(res: ServerResponse, value: object | undefined): void {
  const body = Buffer.from(JSON.stringify(value));
  res.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  res.end(body);
}
