// All problems of a bundle text as sentences, for preview, deployment and the assistant. It decides nothing else.
import { type LanguageOptions, readBundle } from './document.ts';

/**
 * Every problem of a bundle or ruleset at once, in the order of the text, at most 50; empty when it can be evaluated.
 * Each names the contract, the path, what was expected there, and line and column.
 */
export function validateBundle(yamlText: string, options: LanguageOptions = {}): string[] {
  const read = readBundle(yamlText, options);
  return read.ok ? [] : read.problems.map((problem) => problem.message);
}
