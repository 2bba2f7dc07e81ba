import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

// This module runs for each test file. A module that several test files of a worker import runs
// only once.
afterAll(endFile);
