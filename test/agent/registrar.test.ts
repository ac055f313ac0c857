// Agents that become registered: the caps of a key and of a tenant, and what is told of those above them.
import { expect, it } from 'vitest';
import { createLocalLimits } from '../../adapters/local/limits.ts';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import { Registrar, type RegistrarParts } from '../../src/agent/use-cases/registrar.ts';
import { ManualClock, settled } from '../clock.ts';
import { uuid } from '../conformance/fixtures.ts';
import { memoryLog } from '../log.ts';

const day = 24 * 3_600_000;

async function aRegistrar(changed: Partial<RegistrarParts> = {}) {
  const clock = new ManualClock();
  const { agents } = await openSqliteInline(':memory:');
  const log = memoryLog();
  const parts = { agents, clock, log, limits: createLocalLimits({ clock }), secrets: { uuid } };
  const registrar = new Registrar({ ...parts, newPerMinute: 20_000, maxLive: 200_000, ...changed });
  const bring = async (agentId: string, over: { tenantId?: string; keyId?: string } = {}) => {
    const source = { tenantId: 't1', env: 'production' as const, keyId: 'k1', ...over };
    const found = await registrar.noteSeen(source, agentId);
    return found !== null && found.retiredAt === null;
  };
  const bringAll = async (prefix: string, count: number, over = {}) => {
    const all = await Promise.all(Array.from({ length: count }, (_, i) => bring(`${prefix}${i}`, over)));
    return all.filter(Boolean).length;
  };
  return { registrar, agents, clock, log, bring, bringAll };
}

it('lets one key bring so many new agents a minute, and another key as many', async () => {
  const { agents, clock, bring, bringAll } = await aRegistrar({ newPerMinute: 5 });
  expect(await bringAll('a', 8)).toBe(5);
  expect(await bring('a0')).toBe(true);
  expect(await bring('b')).toBe(false);
  expect(await bring('b', { keyId: 'k2' })).toBe(true);
  expect(await bring('b')).toBe(true);
  clock.advance(60_000);
  expect(await bringAll('c', 8)).toBe(5);
  expect(await agents.count('t1')).toBe(11);
});

it('counts no agent against a key that was registered before', async () => {
  const { clock, bringAll } = await aRegistrar({ newPerMinute: 50 });
  expect(await bringAll('a', 30)).toBe(30);
  clock.advance(60_000);
  for (let i = 0; i < 5; i++) expect(await bringAll('a', 30)).toBe(30);
  expect(await bringAll('b', 50)).toBe(50);
});

it('registers no more agents of a tenant than may live, though they come at once, and others as before', async () => {
  const { agents, clock, bring, bringAll } = await aRegistrar({ maxLive: 10 });
  expect(await bringAll('a', 7)).toBe(7);
  expect(await bringAll('b', 7)).toBe(3);
  expect(await bringAll('a', 7)).toBe(7);
  expect(await bring('a', { tenantId: 't2' })).toBe(true);
  // Room comes when some are retired.
  clock.advance(8 * day);
  await bringAll('a', 2);
  expect(await agents.retire(clock.now() - 7 * day, clock.now(), 99)).toBe(9);
  clock.advance(5_000);
  expect(await bringAll('b', 9)).toBe(8);
  expect(await agents.count('t1')).toBe(10);
});

it('looks again what other nodes registered before it lets in many', async () => {
  const one = await aRegistrar({ maxLive: 300 });
  const other = await aRegistrar({ maxLive: 300, agents: one.agents, clock: one.clock });
  for (let i = 0; i < 100; i++) {
    await one.bringAll(`a${i}-`, 2);
    await other.bringAll(`b${i}-`, 2);
  }
  const count = await one.agents.count('t1');
  expect(count).toBeGreaterThanOrEqual(300);
  // A hundredth of the cap for each node.
  expect(count).toBeLessThanOrEqual(306);
});

it('counts those that come back from retirement as new', async () => {
  const { agents, clock, bring, bringAll } = await aRegistrar({ newPerMinute: 3 });
  expect(await bringAll('a', 3)).toBe(3);
  clock.advance(8 * day);
  await agents.retire(clock.now(), clock.now(), 99);
  await bring('b');
  expect(await bringAll('a', 3)).toBe(2);
});

it('says how many were left out in this hour, each once, and names the key in a warning once a minute', async () => {
  const { registrar, clock, log, bring, bringAll } = await aRegistrar({ newPerMinute: 2 });
  await bringAll('a', 12);
  await bringAll('a', 12);
  await bring('other', { tenantId: 't2' });
  expect(await registrar.leftOut('t1')).toBe(10);
  expect(await registrar.leftOut('t2')).toBe(1);
  expect(log.lines).toEqual([
    {
      level: 'warn',
      message: 'some agents are served but not registered',
      fields: {
        key_id: 'k1',
        tenant_id: 't1',
        env: 'production',
        reason: 'the API key registers too many new agents a minute',
      },
    },
  ]);
  clock.advance(3_600_000);
  expect(await registrar.leftOut('t1')).toBe(10);
  await bringAll('c', 3);
  expect(log.lines).toHaveLength(2);
  clock.advance(3_600_000);
  expect(await registrar.leftOut('t1')).toBe(1);
});

it('keeps what was left out for other nodes and later starts', async () => {
  const { registrar, agents, clock, bringAll } = await aRegistrar({ newPerMinute: 1 });
  const hour = Math.floor(clock.now() / 3_600_000);
  await bringAll('a', 4);
  await settled();
  const first = await agents.countLeftOut('t1', hour);
  expect(first).toBeGreaterThan(0);
  await clock.advanceAsync(5_000);
  expect(await agents.countLeftOut('t1', hour)).toBe(3);
  await bringAll('b', 4);
  await registrar.close();
  expect(await agents.countLeftOut('t1', hour)).toBe(7);
  expect(await registrar.leftOut('t1')).toBe(7);
});

it('serves agents that a limit cannot be asked about, unregistered', async () => {
  const limits = { hit: async () => ({ ok: false, retryAfter: 30 }) as const, takeBack: async () => {} };
  const { bring, agents } = await aRegistrar({ limits });
  await agents.noteSeen('t1', 'known', 'production', 0, uuid());
  expect(await bring('known')).toBe(true);
  expect(await bring('new')).toBe(false);
});
