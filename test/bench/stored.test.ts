// Names of databases and keys of a run of benchmarks, and their removal.
import { expect, it } from 'vitest';
import { removeOrWarn } from '../../bench/services.ts';
import { newStoredName, prefixFrom } from '../../bench/suite/stored-names.ts';

const names = /^reeve_bench_[0-9a-f]{8}_$/;

it('names begin as those of the process that started this one, and never like others', () => {
  expect(prefixFrom('reeve_bench_0123abcd_')).toBe('reeve_bench_0123abcd_');
  for (const inherited of [undefined, '', 'r', 'reeve', 'reeve_bench_', 'reeve_bench_0123abcd', 'REEVE_*_']) {
    const prefix = prefixFrom(inherited);
    expect(prefix).toMatch(names);
    expect(prefix).not.toBe(prefixFrom(inherited));
  }
  expect(newStoredName().startsWith(String(process.env.REEVE_BENCH_STORED))).toBe(true);
  expect(process.env.REEVE_BENCH_STORED).toMatch(names);
});

it('a removal that fails is a warning, and what follows goes on', async () => {
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  await removeOrWarn(async () => {}, warn);
  expect(warnings).toEqual([]);
  await removeOrWarn(() => Promise.reject(new Error('connect ECONNREFUSED')), warn);
  expect(warnings).toEqual([expect.stringContaining('connect ECONNREFUSED')]);
});
