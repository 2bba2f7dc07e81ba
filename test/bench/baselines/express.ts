import { createServer } from "node:http";
import express, { type Express, type RequestHandler } from "express";
import { type Answers, answerTo } from "./answers.ts";
import { type Bearer, listen } from "./bearer.ts";

/** Express as it comes: routes that answer fixed objects, those of MCP with the bearer check. */
export function startBare(answers: Answers, bearer: Bearer): Promise<string> {
  return listen(createServer(routes(express(), answers, bearer)));
}

/** The same server without optional features that cost time for each answer. */
export function startLean(answers: Answers, bearer: Bearer): Promise<string> {
  const app = express().disable("etag").disable("x-powered-by");
  return listen(createServer(routes(app, answers, bearer)));
}

function routes(app: Express, answers: Answers, bearer: Bearer): Express {
  app.get("/api/signals", (req, res) => void res.json(answers[req.originalUrl]));
  app.post("/mcp", onlyGood(bearer), express.json(), (req, res) => {
    res.json(answerTo(req.body, req.headers["mcp-protocol-version"], answers));
  });
  return app;
}

/** Lets requests with a good token pass. */
export const onlyGood =
  (bearer: Bearer): RequestHandler =>
  async (req, res, next) => {
    if (await bearer.isGood(req)) next();
    else res.status(401).end();
  };
