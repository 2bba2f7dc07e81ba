import type { RenderContext, Site } from "../../src/answers/site.ts";
import { skillPath } from "../../src/lib/paths.ts";
import { alertWebhooks } from "./alert-webhooks.ts";
import { marketSignals } from "./market-signals.ts";
import { registerAgent } from "./register-agent.ts";
import { type Skill, skillMarkdown } from "./skill.ts";

/** All skills. */
export const skills: readonly Skill[] = [marketSignals, registerAgent, alertWebhooks];

/**
 * URL of the schema of the index, version 0.2.0; clients recognize the format of the index by this
 * URL.
 */
const SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/** The index of the skills, each with the SHA-256 of its served bytes. */
export function skillsIndex(site: Site, { sha256 }: RenderContext) {
  return {
    $schema: SCHEMA,
    skills: skills.map((skill) => ({
      name: skill.name,
      type: "skill-md",
      description: skill.description(site),
      url: skillPath(skill.name),
      digest: `sha256:${sha256(skillMarkdown(skill, site))}`,
    })),
  };
}
