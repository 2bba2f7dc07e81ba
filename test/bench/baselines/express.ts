import { createServer } from "node:http";
import express, { type Express, type RequestHandler } from "express";
import { type Answers, answerTo } from "./answers.ts";
import { type Bearer, listen } from "./bearer.ts";

/**
 * Express with its defaults: the routes answer with fixed objects, and the MCP route checks the
 * bearer token.
 */
export function startBareExpress(answers: Answers, bearer: Bearer): Promise<string> {
  return listen(createServer(routes(express(), answers, bearer)));
}

/** Express with the routes of `startBareExpress`, but without a check of the bearer token. */
export function startOpenExpress(answers: Answers): Promise<string> {
  return listen(createServer(routes(express(), answers)));
}

/**
 * Express with the routes of `startBareExpress`, but without the optional features that slow down
 * every answer.
 */
export function startLeanExpress(answers: Answers, bearer: Bearer): Promise<string> {
  const app = express().disable("etag").disable("x-powered-by");
  return listen(createServer(routes(app, answers, bearer)));
}

function routes(app: Express, answers: Answers, bearer?: Bearer): Express {
  app.get("/api/signals", (req, res) => void res.json(answers[req.originalUrl]));
  if (bearer !== undefined) app.use("/mcp", requireValidBearer(bearer));
  app.post("/mcp", express.json(), (req, res) => {
    res.json(answerTo(req.body, req.headers["mcp-protocol-version"], answers));
  });
  return app;
}

/** Lets requests with a valid token pass, and answers all other requests with 401. */
export const requireValidBearer =
  (bearer: Bearer): RequestHandler =>
  async (req, res, next) => {
    if (await bearer.isGood(req)) next();
    else res.status(401).end();
  };
