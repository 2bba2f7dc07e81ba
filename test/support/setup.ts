import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

// This module runs for each test file, whereas the modules that the files of a worker share run
// only once.
afterAll(endFile);
