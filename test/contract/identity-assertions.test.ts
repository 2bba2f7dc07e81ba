import { describe, expect, it } from "vitest";
import { clients } from "../../src/auth/agents/agent.ts";
import { readAudit } from "../../src/store/audit-walk.ts";
