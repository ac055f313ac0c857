// The page of errors against the closed list of codes.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { wireCodes } from '../../src/http/problem.ts';

const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (\d{3}) +\| (.+?) +\| (.+?) +\|$/gm)];

test('every error code has a row, in the order of the list, and no row is for anything else', () => {
  expect(rows.map(([, code]) => code)).toEqual([...wireCodes]);
});

test('every row has an error status, a cause and a fix', () => {
  for (const [, code, status, cause, fix] of rows) {
    expect(Number(status), code).toBeGreaterThanOrEqual(400);
    expect(Number(status), code).toBeLessThan(600);
    expect(cause?.length, code).toBeGreaterThan(20);
    expect(fix?.length, code).toBeGreaterThan(10);
  }
});

test('statuses never decrease, as the list of codes promises', () => {
  const statuses = rows.map(([, , status]) => Number(status));
  expect(statuses).toEqual([...statuses].sort((a, b) => a - b));
});
