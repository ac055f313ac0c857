// The page of errors against the table of statuses.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { statusOf } from '../../src/http/problem.ts';

it('gives each error code the status that the hub answers', () => {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ]);
  expect(Object.fromEntries(rows)).toEqual(statusOf);
});
