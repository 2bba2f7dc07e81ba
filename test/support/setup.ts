import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

// This runs for each test file, unlike the modules that the files of a worker share.
afterAll(endFile);
