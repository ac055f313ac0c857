// A test passes at its first try or fails: none is repeated until it passes.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Vitest's option in a test or a configuration. */
const option = /\bretry: ?\d/;
/** In a command line. */
const word = /vitest.*--retry\b/;

it('no test and no configuration has the option retry', () => {
  const tests = ['test', 'packages/agent/test'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts') && name !== 'conventions/retries.test.ts')
      .map((name) => `${folder}/${name}`),
  );
  const commands = readdirSync(root).filter((name) => name.startsWith('vitest.') || name === 'package.json');
  const scripts = readdirSync(`${root}scripts`).map((name) => `scripts/${name}`);
  expect(tests.length).toBeGreaterThan(400);
  const repeated = [...tests, ...commands, ...scripts].filter((file) => {
    const text = readFileSync(`${root}${file}`, 'utf8');
    return option.test(text) || word.test(text);
  });
  expect(repeated).toEqual([]);
});
