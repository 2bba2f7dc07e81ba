import express, { Router } from "express";
import { describe, expect, it } from "vitest";
import { routesOf } from "../../../src/http/served-routes.ts";

const answer = () => {};

describe("the list of served routes", () => {
  it("contains every method of every path, in matching order", () => {
    const app = express();
    app.route("/first/:id").get(answer).put(answer).all(answer);
    app.post(["/second", "/third"], answer);
    expect(routesOf(app)).toEqual([
      { method: "GET", path: "/first/:id" },
      { method: "PUT", path: "/first/:id" },
      { method: "POST", path: "/second" },
      { method: "POST", path: "/third" },
    ]);
  });

  it("contains the routes of nested routers with their full paths", () => {
    const inner = Router().get("/", answer).delete("/leaf", answer);
    const outer = Router().get("/root", answer).use("/deep", inner);
    expect(routesOf(express().use(outer).use("/mounted", outer))).toEqual([
      { method: "GET", path: "/root" },
      { method: "GET", path: "/deep" },
      { method: "DELETE", path: "/deep/leaf" },
      { method: "GET", path: "/mounted/root" },
      { method: "GET", path: "/mounted/deep" },
      { method: "DELETE", path: "/mounted/deep/leaf" },
    ]);
  });

  it("contains routes for all methods and explicit HEAD routes, but no middleware", () => {
    const router = Router().all("/any", answer).head("/head", answer).use("/middleware", answer);
    expect(routesOf(express().use(router))).toEqual([
      { method: "*", path: "/any" },
      { method: "HEAD", path: "/head" },
    ]);
  });
});
