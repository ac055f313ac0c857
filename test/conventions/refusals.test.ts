// Refusals that clients may repeat later stand in the tables of src/admission, from which docs/limits.md is made.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, it } from 'vitest';
import { outageOf, outageTable } from '../../src/admission/outages.ts';

const root = join(new URL('.', import.meta.url).pathname, '../..');
const files = ['src', 'actors', 'adapters'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.ts$/.test(name))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
);

it.each([
  ['a Retry-After', /\bretryAfter: [\d_]+/],
  ['a refusal by a limit', /new (?:Hub|Request)Error\(\s*'(?:too_busy|rate_limited|shutting_down)'/],
])('%s is written in the tables of admission alone', (_, pattern) => {
  const places = files.filter((file) =>
    pattern.test(readFileSync(join(root, file), 'utf8').replace(/\/\/.*$|\/\*[\s\S]*?\*\//gm, '')),
  );
  expect(places.filter((file) => !file.startsWith('src/admission/'))).toEqual([]);
});

it('an outage becomes a new error of its own each time', () => {
  const error = outageOf('rulesetChanging');
  expect(error).toMatchObject({ ...pick(outageTable.rulesetChanging.refusal), detail: { retryAfter: 1 } });
  expect(outageOf('rulesetChanging')).not.toBe(error);
  expect(outageOf('idempotentRequestRunning').detail).toEqual({
    reason: 'idempotency_in_progress',
    retryAfter: 1,
  });
});

const pick = ({ code, message }: { readonly code: string; readonly message: string }) => ({ code, message });
