// The check of `reeve doctor` that there is more space than the hub's reserve.
import { expect, it } from 'vitest';
import { reserveOf } from '../../adapters/sqlite/index.ts';
import { space } from '../../src/hub/doctor/folder.ts';

const mebibyte = 1 << 20;
const gibibyte = 1 << 30;

it.each([
  ['the usual reserve', 100 * gibibyte, null, 512 * mebibyte],
  ['the usual reserve of a small disk', 4 * gibibyte, null, reserveOf(4 * gibibyte)],
  ['64 MiB on a tiny disk', 256 * mebibyte, null, 64 * mebibyte],
  ['the reserve that is set', 100 * gibibyte, 900 * mebibyte, 900 * mebibyte],
  ['64 MiB without a reserve', 100 * gibibyte, 0, 64 * mebibyte],
])('fails below %s', (_name, total, reserveBytes, least) => {
  expect(space({ free: least - 1, total }, reserveBytes).outcome).toBe('failure');
  expect(space({ free: least, total }, reserveBytes).outcome).toBe('warning');
  expect(space({ free: gibibyte, total }, reserveBytes).outcome).toBe('ok');
});
