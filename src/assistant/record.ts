// AI assistance: who provides it, what it is set to, and what its use cost. Pure.
import { z } from 'zod';
import { computed, field, type RecordOf, record } from '../shared/record.ts';

/**
 * `hosted_a` speaks the messages format; the others speak chat completions. `local` runs on the operator's own machines
 * and gets no tools.
 */
export const aiProviders = ['hosted_a', 'hosted_b', 'router', 'local'] as const;
export type AiProvider = (typeof aiProviders)[number];
/** The base address of each provider where a tenant names no other. */
export type AiAddresses = { readonly [P in AiProvider]: string };

export const addressesOf = (addressOf: (provider: AiProvider) => string): AiAddresses =>
  Object.fromEntries(aiProviders.map((provider) => [provider, addressOf(provider)])) as AiAddresses;

/** A tenant's choice, as it is kept. */
export interface AiConfig {
  readonly provider: AiProvider;
  /** Sealed (shared/ports/secrets), base64; null where the provider needs none. */
  readonly sealedKey: string | null;
  /** The visible part of the key; null without a key. */
  readonly maskedKey: string | null;
  /** As the provider names it; null until somebody chooses one. */
  readonly model: string | null;
  /** Instead of the provider's own address; null: that one. */
  readonly baseUrl: string | null;
}

/** USD for a million tokens. */
export interface AiPrice {
  readonly input: number;
  readonly output: number;
}

/** By the name of the model. */
export type AiPrices = Readonly<Record<string, AiPrice>>;

const count = z.number().int();

/** Sums over a tenant's questions on a day. */
const dayFields = {
  tenantId: field(z.string(), { wire: false }),
  /** UTC, `2026-06-01`. */
  day: field(z.iso.date(), { name: 'date' }),
  inputTokens: field(count),
  outputTokens: field(count),
  /** USD; null when the cost is unknown. */
  cost: field(z.number().nullable(), { name: 'cost_usd' }),
  queries: field(count),
  durationMs: field(z.number(), { wire: false }),
};

export type AiDay = RecordOf<typeof dayFields>;

/** Tokens, cost and time of one question. */
export type AiUse = Pick<AiDay, 'inputTokens' | 'outputTokens' | 'cost' | 'durationMs'>;

/** To a millionth of a dollar: a sum of fractions has digits that mean nothing. */
export const roundedCost = (cost: number | null): number | null =>
  cost === null ? null : Math.round(cost * 1e6) / 1e6;

export const aiDayRecord = record('ai_usage', dayFields, {
  console: { cost_usd: computed(z.number().nullable(), ({ cost }: AiDay) => roundedCost(cost)) },
});

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The visible part of a secret: the first 8 and last 4 characters, or nothing if it has at most 12 characters. */
export const maskedKey = (key: string): string =>
  key.length <= 12 ? '***' : `${key.slice(0, 8)}...${key.slice(-4)}`;

/** True for the mask of any key, also of one that has been replaced. */
export const isMaskedKey = (text: string): boolean => /^(?:\*{3}|.{8}\.{3}.{4})$/s.test(text);

/**
 * Cost of the tokens: from the provider's report, else from the operator's prices, else unknown, as for local models.
 */
export function costOf(
  { provider, model }: Pick<AiConfig, 'provider' | 'model'>,
  { inputTokens, outputTokens, cost }: Pick<AiUse, 'inputTokens' | 'outputTokens' | 'cost'>,
  prices: AiPrices,
): number | null {
  if (provider === 'local') return null;
  if (cost !== null) return cost;
  const price = model !== null && Object.hasOwn(prices, model) ? prices[model] : undefined;
  return price ? (inputTokens * price.input + outputTokens * price.output) / 1e6 : null;
}

/** Reasons why a provider gave no whole answer, in a closed list. The sentences hold nothing that the provider sent. */
export const aiFailures = {
  refused: "The provider's address is not allowed. Use an https URL with a public host.",
  unauthorized: 'The provider refused the API key.',
  rejected: 'The provider refused the request. Check the name of the model and the address.',
  rate_limited: "The provider's rate limit is reached. Try again later.",
  unavailable: 'The provider is not available. Try again later.',
  timeout: 'The provider did not answer in time. Try again later.',
  connection:
    'The hub cannot reach the provider, or the connection broke. Check the address and the network.',
  malformed: "The provider's answer has an unknown format. Check the provider and the address.",
  aborted: 'The question was cancelled.',
  cut_off: 'The answer is cut off, because it reached the token limit. Ask a smaller question.',
  too_long: 'The answer is cut off, because it is longer than 100,000 characters. Ask a smaller question.',
  filtered: "The provider's content filter stopped the answer. Change the question.",
  declined: 'The model declined to answer. Change the question.',
} as const;

export type AiFailure = keyof typeof aiFailures;

/** Thrown by assistant/port/model.ts. `message` may be shown. */
export class AiError extends Error {
  readonly failure: AiFailure;

  constructor(failure: AiFailure) {
    super(aiFailures[failure]);
    this.name = 'AiError';
    this.failure = failure;
  }
}
