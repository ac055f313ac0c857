// YAML that means harm, by what it does. For every route that takes YAML.
import { bundleYaml } from '../contract/library.ts';

const layers = (line: (i: number) => string) => Array.from({ length: 9 }, (_, i) => line(i)).join('\n');

export const hostile: { readonly [what: string]: string } = {
  'an alias bomb': `metadata: {name: team}\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${layers(
    (i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 10 }, () => `*a${i}`).join(', ')}]`,
  )}\n`,
  'a merge-key bomb': `metadata: {name: team}\nm0: &m0 {k: [x, x, x, x, x, x, x, x, x, x]}\n${layers(
    (i) =>
      `m${i + 1}: &m${i + 1}\n${Array.from({ length: 10 }, (_, k) => `  k${k}: {<<: *m${i}, n${k}: 1}`).join('\n')}`,
  )}\n`,
  'an alias of itself': 'metadata: &m {name: team, self: *m}\n',
  'flow nesting, 5,000 deep': `metadata: {name: team}\nx: ${'['.repeat(5000)}${']'.repeat(5000)}\n`,
  'block nesting, 5,000 deep': `metadata: {name: team}\nx:\n  ${'- '.repeat(5000)}x\n`,
  'duplicate keys': 'metadata: {name: team, name: other}\n',
  'a function tag': "metadata: {name: team}\nx: !!js/function 'function () { return process.env }'\n",
  'an object tag': 'metadata: {name: team}\nx: !!python/object/apply:os.system [ls]\n',
  'a __proto__ key': 'metadata: {name: team}\n__proto__: {polluted: true}\n',
  'a constructor key': 'metadata: {name: team, constructor: {prototype: {polluted: true}}}\n',
  'a byte order mark': `\ufeff${bundleYaml('team')}`,
  // As it looks when decoded as UTF-8 would: every other character is a zero, without which it is no UTF-16.
  'UTF-16 read as bytes': [...bundleYaml('team')].map((c) => `${c}\u0001`).join(''),
  'half of a surrogate pair': 'metadata: {name: team}\nx: "\\uD800"\n',
  'a number out of range': 'metadata: {name: team}\nx: .inf\n',
  'a million tokens': `metadata: {name: team}\nx: [${'1,'.repeat(500_000)}]\n`,
  '11 documents': Array.from({ length: 11 }, () => bundleYaml('team')).join('---\n'),
};

/** Valid, and as costly to read as the bounds allow. */
export const costly = (contracts = 100): string =>
  bundleYaml(
    'team',
    Array.from({ length: contracts }, (_, i) => `c${i}`),
    `# ${'x'.repeat(1000)}\n`.repeat(500),
  );
