// Shell-style name patterns, as Python's fnmatch reads them, case-sensitive. Used for tools, domains, agents and contract names.

type Part =
  | { readonly type: 'star' }
  | { readonly type: 'one' }
  | { readonly type: 'char'; readonly char: string }
  | {
      readonly type: 'set';
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

/**
 * Compiles a glob: `*` any text, `?` one character, `[seq]` and `[!seq]` one character of (not of) a set; all else is literal, an
 * unclosed `[` too. The whole text must match. Time is at most (pattern x text), with no recursion.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  if (pattern === '*') return () => true;
  if (!/[*?[]/.test(pattern)) return (text) => text === pattern;
  const parts = partsOf([...pattern]);
  return (text) => run(parts, [...text]);
}

/** Whether the whole text fits the glob. */
export const globMatch = (pattern: string, text: string): boolean => compileGlob(pattern)(text);

function partsOf(chars: readonly string[]): Part[] {
  const parts: Part[] = [];
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] as string;
    if (char === '*') {
      if (parts.at(-1)?.type !== 'star') parts.push({ type: 'star' });
    } else if (char === '?') parts.push({ type: 'one' });
    else if (char !== '[') parts.push({ type: 'char', char });
    else {
      const negated = chars[i + 1] === '!';
      const from = i + (negated ? 2 : 1);
      // A closing bracket that comes first is a member of the set.
      const end = chars.indexOf(']', from + 1);
      if (end < 0) parts.push({ type: 'char', char });
      else {
        parts.push({ type: 'set', negated, ranges: rangesOf(chars.slice(from, end)) });
        i = end;
      }
    }
  }
  return parts;
}

function rangesOf(chars: readonly string[]): [string, string][] {
  const ranges: [string, string][] = [];
  for (let i = 0; i < chars.length; i++) {
    const first = chars[i] as string;
    const last = chars[i + 2];
    if (chars[i + 1] === '-' && last !== undefined) {
      ranges.push([first, last]);
      i += 2;
    } else ranges.push([first, first]);
  }
  return ranges;
}

function fits(part: Part, char: string): boolean {
  if (part.type === 'one') return true;
  if (part.type === 'char') return part.char === char;
  if (part.type === 'star') return false;
  const cp = char.codePointAt(0) ?? 0;
  const inside = part.ranges.some(
    ([first, last]) => cp >= (first.codePointAt(0) ?? 0) && cp <= (last.codePointAt(0) ?? 0),
  );
  return inside !== part.negated;
}

function run(parts: readonly Part[], chars: readonly string[]): boolean {
  let part = 0;
  let at = 0;
  // Only the last star ever needs to be widened, which keeps this from exploding.
  let star = -1;
  let starAt = 0;
  while (at < chars.length) {
    const current = parts[part];
    if (current?.type === 'star') {
      star = part++;
      starAt = at;
    } else if (current && fits(current, chars[at] as string)) {
      part++;
      at++;
    } else if (star >= 0) {
      part = star + 1;
      at = ++starAt;
    } else return false;
  }
  while (parts[part]?.type === 'star') part++;
  return part === parts.length;
}
