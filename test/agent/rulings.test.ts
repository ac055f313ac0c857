// The names of contracts in deployed documents, which the first request after a start reads from all of them.
import { expect, it } from 'vitest';
import { createRulings } from '../../src/agent/use-cases/rulings.ts';

it('reads several documents at once, but few, and the newest deployment decides a name', async () => {
  const deployments = Array.from({ length: 30 }, (_, version) => ({ bundleName: 'shop', version }));
  let [running, max] = [0, 0];
  const bundles = {
    getVersion: async (_tenant: string, _name: string, version: number) => {
      max = Math.max(max, ++running);
      await new Promise((done) => setImmediate(done));
      running--;
      const id = `contract-${version}`;
      return { snapshot: [{ id, contract_id: id, entries: ['entry', `entry-${version}`] }] };
    },
  };
  const past = { list: async () => ({ items: [...deployments].reverse() }), listAllCurrent: async () => [] };
  const rulings = createRulings({ store: { deployments: past, bundles } } as never);
  const names = await rulings.entries('tenant');
  expect(max).toBeGreaterThan(1);
  expect(max).toBeLessThanOrEqual(8);
  expect(names.size).toBe(31);
  expect(names.get('entry')).toBe('contract-29');
});
