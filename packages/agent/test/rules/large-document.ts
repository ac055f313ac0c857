// The peer of hostile documents: a document that is accepted, near the bounds. A refusal may cost a few times as much.
import { parseYaml } from '../../src/rules/yaml.ts';
import { cpuMs } from '../cpu.ts';

const text = Array.from({ length: 30_000 }, (_, i) => `k${i}: a plain value`).join('\n');

let parsedMs: number | null = null;

/** Processor time of a refusal ÷ that of the large document's parse, which is measured once. */
export function costOfRefusal(refuse: () => void): number {
  parsedMs ??= Math.min(...[0, 1].map(() => cpuMs(() => parseYaml(text))));
  return cpuMs(refuse) / parsedMs;
}

/** Refusals near it read a document with each of its parts several times. */
export const maxCost = 8;
