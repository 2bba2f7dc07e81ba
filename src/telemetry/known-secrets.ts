import { type Environment, variables } from "../config/settings.ts";

/** Every secret in the settings: whole values, and what stands in an address before its host. */
export function knownSecrets(env: Environment): readonly string[] {
  return Object.entries(variables).flatMap(([name, variable]) => {
    const value = env[name];
    return "secret" in variable && value ? [value, ...credentialsIn(value)] : [];
  });
}

/** As it is written and as it is meant. */
function credentialsIn(value: string): readonly string[] {
  const { password } = URL.parse(value) ?? {};
  return password ? [password, decoded(password)] : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
