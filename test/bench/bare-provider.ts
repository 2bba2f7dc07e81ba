import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AdapterPayload, Provider } from "oidc-provider";

/**
 * Runs oidc-provider alone, to show the minimum cost of issuing a token. It keeps all data in Maps,
 * which are lost when the process exits. Prints `{"baseUrl"}` once it listens.
 */

function mapAdapter() {
  const documents = new Map<string, AdapterPayload>();
  return {
    async upsert(id: string, payload: AdapterPayload) {
      documents.set(id, payload);
    },
    find: async (id: string) => documents.get(id),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
    async consume() {},
    async destroy(id: string) {
      documents.delete(id);
    },
    async revokeByGrantId() {},
  };
}

const server = createServer();
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const provider = new Provider(baseUrl, {
  adapter: mapAdapter,
  scopes: ["signals:read", "factor:read", "darkpool:read"],
  clientAuthMethods: ["client_secret_post", "client_secret_basic"],
  routes: { token: "/oauth/token", registration: "/oauth/register" },
  ttl: { ClientCredentials: 3600 },
  features: {
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => baseUrl,
      getResourceServerInfo: () => ({
        audience: baseUrl,
        scope: "signals:read factor:read darkpool:read",
        accessTokenTTL: 3600,
        accessTokenFormat: "opaque",
      }),
    },
  },
});
server.on("request", provider.callback());
process.stdout.write(`${JSON.stringify({ baseUrl })}\n`);
