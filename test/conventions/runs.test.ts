// Regular expressions that would read a long run of alike characters once from each of them: the time grows with the
// square of a text that a client, a tool or a provider sends.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';

const root = join(new URL('.', import.meta.url).pathname, '../..');
const files = ['src', 'actors', 'adapters', 'packages/agent/src'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name)),
);

/** One character of a pattern, or one class of characters. */
const one = /(?:\\[pP]\{\w+\}|\\u[0-9a-f]{4}|\\.|\[(?:\\.|[^\]\\])*\]|[^\\[\]()|^$?*+{}])/.source;
/** A run that must reach the end of the text. */
const runAtEnd = new RegExp(`^${one}[*+]\\$$`);
/** A run before a character that must follow; a class that is alone may stop anywhere. */
const runBefore = new RegExp(`^${one}[*+](?:${one}(?![*?{])|\\()`);

/** The alternatives of a pattern outside of its groups. */
function alternativesOf(pattern: string): string[] {
  const alternatives = [''];
  let depth = 0;
  for (const [part] of pattern.matchAll(/\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S]/g)) {
    if (part === '(') depth++;
    if (part === ')') depth--;
    if (part === '|' && depth === 0) alternatives.push('');
    else alternatives[alternatives.length - 1] += part;
  }
  return alternatives;
}

const isSquare = ({ pattern, flags }: { readonly pattern: string; readonly flags: string }): boolean =>
  !flags.includes('y') &&
  alternativesOf(pattern).some((alternative) => runAtEnd.test(alternative) || runBefore.test(alternative));

it.each([
  [/\s+$/, true],
  [/^["']+|["']+$/g, true],
  [/\s*;\s*/, true],
  [/[a-z]+=/, true],
  [/(?<!\/)\/+$/, false],
  [/^\s+$/, false],
  [/\s+/g, false],
  [/[a-z]+|=/, false],
  [/;\s*/, false],
])('%s is refused: %s', ({ source, flags }, isRefused) => {
  expect(isSquare({ pattern: source, flags })).toBe(isRefused);
});

it('no expression begins with a run that another part must follow; a lookbehind lets each run be read once', () => {
  const places = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const squares: string[] = [];
    const { program } = parseSync(file, text);
    new Visitor({
      Literal({
        regex,
        start,
      }: {
        readonly regex?: { pattern: string; flags: string };
        readonly start: number;
      }) {
        if (regex && isSquare(regex))
          squares.push(`${file}:${text.slice(0, start).split('\n').length} ${regex.pattern}`);
      },
    } as ConstructorParameters<typeof Visitor>[0]).visit(program);
    return squares;
  });
  expect(places).toEqual([]);
});
