// Reads the settings of AI assistance that are more than a word.
import type { AiPrices } from '../assistant/record.ts';

const isPrice = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

/** @throws Error for anything but prices by model; an empty text has none */
export function aiPricesOf(text: string): AiPrices {
  if (text === '') return {};
  const prices: unknown = JSON.parse(text);
  if (typeof prices !== 'object' || prices === null || Array.isArray(prices)) throw new Error('no object');
  for (const price of Object.values(prices as { readonly [model: string]: unknown })) {
    const { input, output } = (price ?? {}) as { readonly input?: unknown; readonly output?: unknown };
    if (!isPrice(input) || !isPrice(output)) throw new Error('no price');
  }
  return prices as AiPrices;
}
