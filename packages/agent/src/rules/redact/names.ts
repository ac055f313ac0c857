// Hides tokens in names of mappings, and keeps the names of one mapping different.
import { redacted } from './scan.ts';

/** Characters of the shortest token. */
const minToken = 14;
/** Characters of a name that are read, and those that are kept of a name with a token or a longer one. */
const maxRead = 4096;
const maxKept = 1000;

/** Takes the names of a mapping; returns the function that replaces each of them once. */
export type NameRedaction = (names: () => readonly string[]) => (name: string) => string;

/** @param tokens a pattern of tokens */
export function createNameRedaction(tokens: RegExp): NameRedaction {
  const anyToken = new RegExp(`(?<![\\w-])${tokens.source}`, 'g');
  const hide = (name: string): string => {
    if (name.length < minToken) return name;
    const hidden = name.slice(0, maxRead).replace(anyToken, redacted);
    return hidden === name ? name : hidden.slice(0, maxKept);
  };
  return (names) => {
    let taken: Set<string> | undefined;
    let count = 1;
    return (name) => {
      const hidden = hide(name);
      if (hidden === name) return name;
      taken ??= new Set(names());
      let unique = hidden;
      while (taken.has(unique)) unique = `${hidden} ${++count}`;
      taken.add(unique);
      return unique;
    };
  };
}
