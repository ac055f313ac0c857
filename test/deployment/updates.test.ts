// Deployments that are due to streams which catch up: what is kept of them, and what that counts.
import { expect, it } from 'vitest';
import { Updates } from '../../src/deployment/use-cases/updates.ts';
import type { Store } from '../../src/shared/ports/store.ts';
import { settled } from '../clock.ts';
import { aDeployment } from '../conformance/fixtures.ts';

/** A store whose texts each count about 20 MiB with the frames made of them: two are more than are kept. */
function aStore() {
  const read: string[] = [];
  const gates = new Map<string, Promise<void>>();
  const getYaml = async (_tenantId: string, name: string) => {
    read.push(name);
    await gates.get(name);
    return new Uint8Array(5 * 1024 * 1024);
  };
  const bundles: Pick<Store['bundles'], 'getYaml'> = { getYaml };
  const signing: Pick<Store['signing'], 'listSuccessions'> = { listSuccessions: async () => [] };
  const store = { bundles, signing };
  const updates = new Updates(store as unknown as Store);
  const of = (bundleName: string) => updates.get(aDeployment({ id: bundleName, bundleName }));
  return { read, gates, of };
}

it('one that gave way to others while it was being read does not count as kept', async () => {
  const { read, gates, of } = aStore();
  let open = () => {};
  gates.set('slow', new Promise((resolve) => (open = resolve)));
  const slow = of('slow');
  await of('a');
  await of('b');
  open();
  expect((await slow)?.deployment.bundleName).toBe('slow');
  await settled();
  await of('c');
  await of('c');
  expect(read).toEqual(['slow', 'a', 'b', 'c']);
});

it('calls side by side and after share one reading, until others take the room', async () => {
  const { read, of } = aStore();
  await Promise.all([of('a'), of('a')]);
  await of('a');
  expect(read).toEqual(['a']);
  await of('b');
  await of('a');
  expect(read).toEqual(['a', 'b', 'a']);
});
