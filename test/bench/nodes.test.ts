// Shares of the nodes of a cluster before a scenario begins.
import { expect, it } from 'vitest';
import { CannotRun } from '../../bench/suite/failure.ts';
import { awaitSpread } from '../../bench/suite/nodes.ts';
import { shardCount } from '../../src/shared/ids.ts';

const healthOf = (...shares: readonly number[]) => ({
  node: 'a',
  nodes: shares.map((count, n) => ({
    node: `${n}`,
    shards: Array.from({ length: count }, (_, shard) => shard),
  })),
});

it('a cluster is spread once all nodes have joined and none owns more than its share', async () => {
  const third = Math.ceil(shardCount / 3);
  const views = [[256], [128, 128], [128, 128, 0], [128, 86, 42], [third, third, shardCount - 2 * third]];
  let reads = 0;
  await awaitSpread(async () => healthOf(...(views[reads++] ?? [])), 3);
  expect(reads).toBe(views.length);
});

it('a spread that does not come is an error with the view of each node', async () => {
  const readHealth = async (node: number) => {
    if (node === 2) throw new Error('fetch failed');
    return healthOf(...(node === 0 ? [128, 128] : [86, 86, 84]));
  };
  const failure = await awaitSpread(readHealth, 3, 0).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CannotRun);
  expect(String(failure)).toContain(
    'The shards are not spread over 3 nodes: node 1 reads 2 nodes with 128, 128; ' +
      'node 2 reads 3 nodes with 86, 86, 84; node 3 does not answer (Error: fetch failed).',
  );
});
