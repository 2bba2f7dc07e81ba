import { z } from "zod";
import { isProviderId, providerIds } from "../sources/live/provider-ids.ts";

/**
 * Schema of a provider's API key. Only printable ASCII, since the key is sent in a header field.
 */
const ProviderKey = z.string().regex(/^[!-~]{1,500}$/);

/**
 * Settings with the credentials of providers; the module of each provider documents its
 * credentials.
 */
const providerVariables = {
  SEC_USER_AGENT: {
    schema: z
      .string()
      .regex(/^[ -~]*[^\s@]+@[^\s@]+\.[^\s@]+[ -~]*$/)
      .optional(),
    allowed: "a name and an email address, such as Example Ltd data@example.com",
    fallback: "none",
    about: "identifies you to EDGAR of the SEC",
  },
  APCA_API_KEY_ID: {
    schema: ProviderKey.optional(),
    allowed: "a key of Alpaca",
    secret: true,
    fallback: "none",
    about: "enables Alpaca, with the secret",
  },
  APCA_API_SECRET_KEY: {
    schema: ProviderKey.optional(),
    allowed: "a secret of Alpaca",
    fallback: "none",
    about: "enables Alpaca, with the key",
    secret: true,
  },
  MASSIVE_API_KEY: {
    schema: ProviderKey.optional(),
    allowed: "a key of Massive",
    secret: true,
    fallback: "none",
    about: "enables Massive",
  },
  UNUSUAL_WHALES_API_KEY: {
    schema: ProviderKey.optional(),
    allowed: "a key of Unusual Whales",
    fallback: "none",
    about: "enables Unusual Whales",
    secret: true,
  },
} as const;

/** Names of the settings with provider credentials. */
export const providerSettings = Object.keys(
  providerVariables,
) as readonly (keyof typeof providerVariables)[];

/** The settings that only a live market uses. */
export const liveVariables = {
  ...providerVariables,
  UNIVERSE: {
    schema: z.string().optional(),
    allowed: "symbols such as AAPL,BTC-USD, or a file with the columns of instruments.csv",
    fallback: "81 large ones",
    about:
      "with `live`: the instruments that are followed; coins end in `-USD`. A file also tells funds and sectors",
  },
  PROVIDERS: {
    schema: z
      .string()
      .transform((text) => text.split(/[\s,]+/).filter((part) => part !== ""))
      .refine((ids) => ids.every(isProviderId))
      .optional(),
    allowed: `names of providers, separated by spaces, of ${providerIds.join(", ")}`,
    fallback: "all that can be used",
    about: "with `live`: only these providers",
  },
  PROVIDER_URLS: {
    schema: z
      .string()
      .transform(providerUrls)
      .refine((urls) => urls !== undefined)
      .optional(),
    allowed: `<provider>=<address without a path>, separated by spaces, such as coinbase=https://mirror.example; providers: ${providerIds.join(", ")}`,
    fallback: "their own addresses",
    about: "with `live`: mirrors of providers",
  },
} as const;

/**
 * Parses a list of provider ids with URLs.
 * @returns `undefined` when an entry is malformed.
 */
function providerUrls(text: string): Readonly<Record<string, string>> | undefined {
  const entries = text
    .split(/\s+/)
    .filter((part) => part !== "")
    .map((part) => {
      const [id = "", ...rest] = part.split("=");
      return [id, rest.join("=")] as const;
    });
  const isKnown = entries.every(([id, url]) => isProviderId(id) && isOrigin(url));
  return isKnown ? Object.fromEntries(entries) : undefined;
}

const isOrigin = (text: string): boolean =>
  /^(https?|wss?):\/\/[^/?#]+$/.test(text) && URL.canParse(text);
