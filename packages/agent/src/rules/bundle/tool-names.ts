// Names of tools in contracts beside the declared ones.
import { compileGlob } from '../evaluate/glob.ts';
import { nearestWord } from './distance.ts';

/** Shorter names are too often one letter apart. */
const minLength = 4;

export const isGlob = (tool: string): boolean => /[*?[]/.test(tool);

/**
 * Returns the declared tool that an undeclared one resembles by one letter, and undefined if there is none. Numbered
 * tools are meant, and so are tools that a declared glob matches.
 */
export function similarTools(declared: readonly string[]): (tool: string) => string | undefined {
  const names = new Set(declared.filter((one) => !isGlob(one)));
  const longNames = [...names].filter((one) => one.length >= minLength);
  const globs = declared.filter(isGlob).map(compileGlob);
  return (tool) => {
    if (tool.length < minLength || names.has(tool) || isGlob(tool)) return undefined;
    if (globs.some((matches) => matches(tool))) return undefined;
    const others = longNames.filter((one) => withoutDigits(one) !== withoutDigits(tool));
    return nearestWord(tool, others, () => 1);
  };
}

const withoutDigits = (name: string): string => name.replace(/\d+/g, '');
