import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

// Runs again for each test file, unlike the modules that the files of a worker share.
afterAll(endFile);
