// The contracts of a document as they are written, as far as the linter looks at them.
import { compileGlob } from '../evaluate/glob.ts';
import type { JsonObject, YamlPath } from '../yaml.ts';
import { isMapping } from './reader.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface Entry {
  readonly id: string;
  readonly type: string;
  readonly at: YamlPath;
  readonly value: JsonObject;
  readonly tools: readonly string[];
}

export function entryOf(value: JsonObject, at: YamlPath): Entry {
  const { id, type, tool, tools } = value;
  const toolNames = Array.isArray(tools) ? tools.map(String) : typeof tool === 'string' ? [tool] : [];
  return { id: String(id), type: String(type), at, value, tools: toolNames };
}

/** The effect in the words of contracts. */
export function effectOf({ type, value }: Entry, words: Vocabulary): 'deny' | 'approve' | 'warn' | 'redact' {
  const spelled =
    type === 'sandbox' ? value.outside : isMapping(value.then) ? value.then[words.effect] : null;
  if (spelled === words.approve) return 'approve';
  return spelled === 'warn' || spelled === 'redact' ? spelled : 'deny';
}

/** The order in which the types are looked at. */
export const rankOf = ({ type }: Entry): number => (type === 'pre' ? 0 : type === 'sandbox' ? 1 : 2);

/** True if some tool may be meant by both. Of two globs only a plain overlap is seen. */
export const overlap = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((a) => others.some((b) => a === b || compileGlob(a)(b) || compileGlob(b)(a)));
