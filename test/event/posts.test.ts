// Posts of events as a whole: how they count against the bound on small posts, and a manifest without events.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { environments } from '../../src/shared/ids.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

const perMinute = 600;
const flatEvent = (call_id: string, environment: string) => ({
  ...{ agent_id: 'agent-1', session_id: 's', call_id, action: 'call_allowed', tool_name: 'read_file' },
  timestamp: new Date(t.clock.now()).toISOString(),
  environment,
});

describe('a hosted post', () => {
  const post = (events: readonly unknown[]) =>
    t.call('hostedIngestEvents', { body: { events } }, t.hostedKey(user)).then(
      ({ status }) => status,
      ({ code }: { code: string }) => code,
    );

  it.each([
    ['no event', []],
    ['events that cannot be stored alone', Array.from({ length: 20 }, () => 1)],
  ])('with %s counts as a small one', async (_, events) => {
    for (let i = 0; i < perMinute; i++) expect(await post(events)).toBe(200);
    expect(await post(events)).toBe('rate_limited');
    // A large one has its own bound.
    expect(await post(Array.from({ length: 10 }, (_, i) => flatEvent(`c${i}`, 'staging')))).toBe(200);
  });

  it('with ten events or more counts as a large one, however many environments they are of', async () => {
    const spread = Array.from({ length: 12 }, (_, i) => flatEvent(`c${i}`, environments[i % 3] ?? ''));
    for (let i = 0; i <= perMinute / 3; i++) expect(await post(spread)).toBe(200);
  });

  it('with few events in several environments counts once', async () => {
    const spread = environments.map((env, i) => flatEvent(`c${i}`, env));
    for (let i = 0; i < perMinute; i++) expect(await post(spread)).toBe(200);
    expect(await post(spread)).toBe('rate_limited');
  });
});

describe('the events of a minute', () => {
  const perEnvironment = 20;
  const events = (count: number) =>
    Array.from({ length: count }, (_, i) => flatEvent(`${t.clock.now()}-${i}`, 'production'));
  beforeEach(async () => {
    await t.close();
    t = await makeHub({ ingestEventsPerMinute: perEnvironment });
    user = await t.tenant();
  });

  const post = (count: number, caller = t.key(user)) =>
    t.call('ingestEvents', { body: { events: events(count) } }, caller);
  const refused = (retryAfter: number) => ({ code: 'rate_limited', detail: { retryAfter } });

  it('of an environment are bounded, and those of another one are not among them', async () => {
    const staging = t.key(user, 'staging');
    await post(perEnvironment);
    await expect(post(1)).rejects.toMatchObject(refused(60));
    expect((await post(perEnvironment, staging)).status).toBe(200);
    await expect(post(10, staging)).rejects.toMatchObject(refused(60));
    t.clock.advance(60_000);
    expect((await post(1)).status).toBe(200);
  });

  it('let a batch pass while there is room for one event, and it delays later ones', async () => {
    await post(10);
    t.clock.advance(30_000);
    await post(10);
    await expect(post(perEnvironment)).rejects.toMatchObject(refused(30));
    t.clock.advance(30_000);
    await post(1);
    expect((await post(2 * perEnvironment)).status).toBe(200);
    t.clock.advance(30_000);
    await expect(post(1)).rejects.toMatchObject(refused(30));
    // A post without events passes at any time.
    expect((await post(0)).status).toBe(200);
    t.clock.advance(30_000);
    expect((await post(perEnvironment - 1)).status).toBe(200);
    expect((await post(2)).status).toBe(200);
  });

  it.each(['ingestEvents', 'hostedIngestEvents'] as const)(
    'over %s does not count as a small one',
    async (route) => {
      const caller = route === 'ingestEvents' ? t.key(user) : t.hostedKey(user);
      const post = (count: number) => t.call(route, { body: { events: events(count) } }, caller as never);
      await post(perEnvironment);
      for (let i = 0; i < perMinute; i++)
        await expect(post(1)).rejects.toMatchObject({ code: 'rate_limited' });
      t.clock.advance(59_000);
      await expect(post(1)).rejects.toMatchObject({ message: 'Too many events. Please slow down.' });
      t.clock.advance(1_000);
      expect((await post(1)).status).toBe(200);
    },
  );
});

describe('a manifest without an event that is stored', () => {
  const contracts = [{ id: 'c', type: 'pre', tool: 'read_file', mode: 'enforce' }];
  const send = async (agent_id: string, events: readonly unknown[], caller = t.key(user)) => {
    const body = { events, agent_manifest: { agent_id, policy_version: 'v1', contracts } };
    return (await t.call('ingestEvents', { body }, caller)).body;
  };
  const storedOf = async (agentId: string) =>
    (await t.hub.store.agents.get(user.tenantId, agentId))?.manifest ?? null;

  it('registers its agent, or the one that the request names', async () => {
    expect(await send('agent-7', [])).toEqual({ accepted: 0, duplicates: 0 });
    expect(await storedOf('agent-7')).toMatchObject({ policyVersion: 'v1', contracts: [{ id: 'c' }] });
    expect(await send('', [1], t.key(user, 'staging', 'agent-8'))).toMatchObject({
      rejected: [{ index: 0 }],
    });
    expect(await storedOf('agent-8')).toMatchObject({ policyVersion: 'v1' });
  });

  it('is stored with events if its agent is registered, and is refused if not', async () => {
    const eventOf = (agent_id: string) => ({ ...flatEvent('c', 'production'), agent_id });
    expect(await send('my agent', [eventOf('my agent')])).toEqual({
      ...{ accepted: 1, duplicates: 0 },
      manifest: 'refused',
    });
    expect(await send('agent-9', [eventOf('agent-9')])).not.toHaveProperty('manifest');
    expect(await storedOf('agent-9')).toMatchObject({ policyVersion: 'v1' });
  });

  it('is refused for an agent that the key is not bound to, or that cannot be registered', async () => {
    const bound = { ...t.key(user, 'production', null), agentPattern: 'team-a.*' };
    expect(await send('team-b.1', [], bound)).toMatchObject({ manifest: 'refused' });
    expect(await send('not an id', [])).toMatchObject({ manifest: 'refused' });
    expect(await storedOf('team-b.1')).toBeNull();
  });
});
