import { describe, expect, it } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import type { AuthScheme } from '../../src/http/contract/route.ts';
import type { Served } from '../../src/http/service-tokens.ts';
import { adminRoles, memberRoles } from '../../src/shared/env-roles.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Control } from '../../src/shared/frame.ts';
import { ManualClock } from '../clock.ts';
import { itAtNight } from '../runs.ts';
import { asKey, asUser, edge, hashOf, headerOf, jsonOf, raw } from './fixtures.ts';

const hour = 3_600_000;
const ingestRoute = { auth: ['key'], role: 'agent', canRepairAgentId: true } as const;
const longId = `team-a.${'x'.repeat(300)}`;
const shortId = `team-a.${'x'.repeat(193)}~${hashOf(longId).slice(0, 16)}`;

describe('API keys', () => {
  it('are read once and then known, until they are revoked anywhere', async () => {
    const { pipeline, reads, keys, key, broadcast } = edge();
    const get = () => pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    expect([(await get()).status, (await get()).status, reads.keys]).toEqual([200, 200, 1]);
    keys.set(key.hash, { ...key, revokedAt: 1 });
    await broadcast.control({ kind: 'key_revoked', tenantId: 't1', keyId: key.id, keyHash: key.hash });
    const after = await get();
    expect([after.status, jsonOf(after).detail]).toEqual([401, 'Invalid or revoked API key.']);
    expect(headerOf(after, 'WWW-Authenticate')).toBe('Bearer');
  });

  it.each(['missed', 'interruption'] as const)(
    'are read again after control messages may be missing (%s)',
    async (kind) => {
      const { pipeline, keys, key, callers } = edge();
      const status = async () => (await pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey))).status;
      expect(await status()).toBe(200);
      keys.set(key.hash, { ...key, revokedAt: 1 });
      callers.control({ kind });
      expect(await status()).toBe(401);
    },
  );

  it('revoked while being read are read again', async () => {
    const { pipeline, keys, key, callers } = edge();
    const byHash = keys.get.bind(keys);
    let first = true;
    keys.get = (hash) => {
      const found = byHash(hash);
      if (first) {
        first = false;
        keys.set(key.hash, { ...key, revokedAt: 1 });
        callers.control({ kind: 'key_revoked', tenantId: 't1', keyId: key.id, keyHash: key.hash });
      }
      return found;
    };
    expect((await pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey))).status).toBe(401);
  });

  it('stand as long as the store knows them, whatever is remembered', async () => {
    const { pipeline, callers, keys, key } = edge();
    await pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    const { tenantId } = key;
    const env = 'production' as const;
    const network = '203.0.113.9';
    const caller = {
      keyId: key.id,
      keyPrefix: key.prefix,
      keyHash: key.hash,
      tenantId,
      env,
      agentId: null,
      agentPattern: null,
      expiresAt: null,
      network,
    };
    const isStillValid = () => callers.isStillValid({ kind: 'key', ...caller });
    expect(await isStillValid()).toBe(true);
    keys.set(key.hash, { ...key, revokedAt: 1 });
    expect(await isStillValid()).toBe(false);
    keys.delete(key.hash);
    expect(await isStillValid()).toBe(false);
  });

  it('are refused from the moment they expire, also while remembered, and their use is not recorded any more', async () => {
    const clock = new ManualClock();
    const { pipeline, callers, keys, key, used } = edge({ clock });
    const get = () => pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    const expiresAt = clock.now() + 1000;
    keys.set(key.hash, { ...key, expiresAt });
    const caller = await callers
      .find({ auth: ['key'], role: 'agent' }, new Map(Object.entries(asKey)), '')
      .then((found) => found.caller as Extract<Caller, { kind: 'key' }>);
    clock.advance(999);
    expect((await get()).status).toBe(200);
    expect(await callers.isStillValid(caller)).toBe(true);
    clock.advance(1);
    const after = await get();
    expect([after.status, jsonOf(after).detail]).toEqual([401, 'This API key has expired.']);
    expect(await callers.isStillValid(caller)).toBe(false);
    await callers.flush();
    expect(used).toEqual([{ id: key.id, at: expiresAt - 1 }]);
  });

  it.each([
    ['agent-1', undefined, 'agent-1'],
    ['agent-1', 'agent-1', 'agent-1'],
    ['team-a.*', 'team-a.7', 'team-a.7'],
    ['team-a.*', undefined, null],
    [null, undefined, null],
  ])('bound to %s are of the agent %s names: %s', async (agentPattern, header, agentId) => {
    const { callers, keys, key } = edge();
    keys.set(key.hash, { ...key, agentPattern });
    const headers = { ...asKey, ...(header === undefined ? {} : { 'x-service-agent-id': header }) };
    const { caller } = await callers.find(
      { auth: ['key'], role: 'agent' },
      new Map(Object.entries(headers)),
      '',
    );
    expect(caller).toMatchObject({ agentId, agentPattern });
  });

  it('bound to an agent are refused with the header of another', async () => {
    const { pipeline, keys, key } = edge();
    keys.set(key.hash, { ...key, agentPattern: 'team-a.*' });
    const as = (agent: string) =>
      pipeline.handle(raw('GET', '/api/v1/sessions/a', { ...asKey, 'x-service-agent-id': agent }));
    expect((await as('team-a.7')).status).toBe(200);
    const refused = await as('team-b.7');
    expect([refused.status, jsonOf(refused)]).toMatchObject([
      403,
      {
        detail:
          "This API key is restricted to agents that match 'team-a.*', and 'team-b.7' does not match. Use a key for this agent.",
      },
    ]);
  });

  it('that do not exist are asked for at most every 5 s', async () => {
    const clock = new ManualClock();
    const { pipeline, reads } = edge({ clock });
    const get = () => pipeline.handle(raw('GET', '/api/v1/sessions/a', { authorization: 'Bearer svk_x_y' }));
    await get();
    await get();
    expect(reads.keys).toBe(1);
    clock.advance(5_001);
    await get();
    expect(reads.keys).toBe(2);
  });

  it('answer with the texts of the specification', async () => {
    const { pipeline } = edge();
    const detail = async (headers: { [name: string]: string }, path = '/api/v1/sessions/a') =>
      jsonOf(await pipeline.handle(raw('GET', path, headers))).detail;
    expect(await detail({})).toBe('Authorization header is required.');
    expect(await detail({ authorization: 'Basic abc' })).toMatch('Bearer');
    expect(await detail({ authorization: 'Bearer other' })).toBe('Invalid or revoked API key.');
    expect(await detail({ authorization: `Bearer svk_${'x'.repeat(600)}` })).toBe(
      'Invalid or revoked API key.',
    );
    expect(await detail({}, '/api/v1/keys')).toBe('Not authenticated.');
    expect(await detail({ cookie: 'service_session=other' }, '/api/v1/keys')).toBe(
      'Session expired or invalid.',
    );
  });

  it('write their last uses in batches, each key once', async () => {
    const clock = new ManualClock();
    const { pipeline, used } = edge({ clock });
    for (let i = 0; i < 3; i++) await pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    expect(used).toEqual([]);
    await clock.advanceAsync(5_000);
    expect(used).toEqual([{ id: 'key-1', at: expect.any(Number) }]);
  });

  it('write their last uses again when that failed', async () => {
    const clock = new ManualClock();
    const { pipeline, used, log } = edge({ clock });
    const push = used.push.bind(used);
    used.push = () => {
      throw new Error('store away');
    };
    await pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    await clock.advanceAsync(5_000);
    used.push = push;
    await clock.advanceAsync(5_000);
    expect(used).toHaveLength(1);
    expect(log.lines).toMatchObject([{ level: 'warn' }]);
  });

  it('carry an agent id without control characters, or are refused', async () => {
    const { pipeline } = edge();
    for (const id of ['a\nb', 'a\u0085b', 'x'.repeat(256)]) {
      const headers = { ...asKey, 'x-service-agent-id': id };
      expect((await pipeline.handle(raw('GET', '/api/v1/sessions/a', headers))).status).toBe(400);
    }
  });

  it.each([
    ['keeps', null, 'a\tb', 'a\tb'],
    ['shortens', null, longId, shortId],
    ['shortens', 'team-*', longId, shortId],
    ['shortens', 'team-*', `team-${'🦄'.repeat(150)}`, /^team-🦄{97}~[0-9a-f]{16}$/u],
  ])(
    '%s an odd agent id where the route repairs it (key of %s)',
    async (_, agentPattern, header, agentId) => {
      const { callers, keys, key } = edge();
      keys.set(key.hash, { ...key, agentPattern });
      const headers = new Map(Object.entries({ ...asKey, 'x-service-agent-id': header }));
      const identity = await callers.find(ingestRoute, headers, '');
      const expected = typeof agentId === 'string' ? agentId : expect.stringMatching(agentId);
      expect(identity.caller).toMatchObject({ agentId: expected, agentPattern });
      expect(callers.remembered(ingestRoute, headers, '')).toEqual(identity);
      const strictRoute = { auth: ingestRoute.auth, role: ingestRoute.role };
      await expect(callers.find(strictRoute, headers, '')).rejects.toMatchObject({ code: 'bad_request' });
      expect(() => callers.remembered(strictRoute, headers, '')).toThrow('without control characters');
    },
  );

  it.each(['team-b', 'team-b*'])(
    'of %s are refused with an odd id of another agent',
    async (agentPattern) => {
      const { callers, keys, key } = edge();
      keys.set(key.hash, { ...key, agentPattern });
      for (const header of [longId, 'team-a\tb']) {
        const headers = new Map(Object.entries({ ...asKey, 'x-service-agent-id': header }));
        await expect(callers.find(ingestRoute, headers, '')).rejects.toMatchObject({ code: 'forbidden' });
      }
    },
  );
});

describe('login cookies', () => {
  it('slide at most once a minute, and are then issued again', async () => {
    const clock = new ManualClock();
    const { pipeline, extended } = edge({ clock });
    const get = () => pipeline.handle(raw('GET', '/api/v1/keys', asUser));
    expect(headerOf(await get(), 'Set-Cookie')).toBeUndefined();
    clock.advance(61_000);
    const [one, two] = await Promise.all([get(), get()]);
    const cookies = [headerOf(one, 'Set-Cookie'), headerOf(two, 'Set-Cookie')].filter(Boolean);
    expect(cookies).toEqual(['service_session=token; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400']);
    expect(extended).toHaveLength(1);
  });

  it('let a user go on while the store takes no writes', async () => {
    const clock = new ManualClock();
    const { pipeline } = edge({
      clock,
      extend: () => Promise.reject(new HubError('disk_full', 'The disk of the store is full.')),
    });
    clock.advance(61_000);
    const answer = await pipeline.handle(raw('GET', '/api/v1/keys', asUser));
    expect(answer.status).toBe(200);
    expect(headerOf(answer, 'Set-Cookie')).toBeUndefined();
  });

  itAtNight('end after 7 days however much they are used', async () => {
    const clock = new ManualClock();
    const { pipeline } = edge({ clock });
    const get = () => pipeline.handle(raw('GET', '/api/v1/keys', asUser));
    for (let i = 0; i < 7 * 24 - 1; i++) {
      clock.advance(hour);
      expect((await get()).status).toBe(200);
    }
    clock.advance(hour);
    expect((await get()).status).toBe(401);
  });

  it('show a changed role within 5 s, and a sign-out at once', async () => {
    const clock = new ManualClock();
    const { pipeline, people, logins, broadcast } = edge({ clock });
    const create = () =>
      pipeline.handle(raw('POST', '/api/v1/keys', asUser, '{"env":"staging"}')).then(({ status }) => status);
    expect(await create()).toBe(403);
    if (people.user) people.user = { ...people.user, roles: adminRoles };
    clock.advance(5_000);
    expect(await create()).toBe(201);
    logins.clear();
    await broadcast.control({ kind: 'login_ended', tokenHash: hashOf('token') });
    expect(await create()).toBe(401);
  });
});

describe('tokens of service accounts', () => {
  const text = `svt_${'x'.repeat(43)}`;
  const headers = new Map([['authorization', `Bearer ${text}`]]);
  const route = { auth: ['cookie', 'operatorJwt'], role: 'viewer' } as const;
  const viewer = [{ role: 'viewer', env: '*' }] as const;

  function account() {
    const clock = new ManualClock();
    const { callers, services } = edge({ clock });
    const ids = { tenantId: 't1', createdBy: 'a@b.c', createdAt: clock.now() };
    const served: Served = {
      account: { ...ids, id: 'account-1', name: 'ci', roles: viewer },
      token: {
        ...ids,
        id: 'token-1',
        accountId: 'account-1',
        label: 'pipeline',
        hash: hashOf(text),
        expiresAt: clock.now() + hour,
        lastUsedAt: null,
      },
    };
    services.set(served.token.hash, served);
    const roles = async (auth: readonly AuthScheme[] = route.auth) => {
      const { caller } = await callers.find({ ...route, auth }, headers, '');
      return (caller as Extract<Caller, { kind: 'user' }>).roles;
    };
    return { clock, callers, services, served, roles };
  }

  const tokenHash = hashOf(text);
  it.each<Control>([
    { kind: 'login_ended', tokenHash },
    { kind: 'user_logins_ended', userId: 'account-1' },
    { kind: 'missed' },
    { kind: 'interruption' },
  ])('are remembered for 500 ms, and open nothing after $kind', async (control) => {
    const { clock, callers, services, roles } = account();
    expect([await roles(['cookie']), await roles(['operatorJwt'])]).toEqual([viewer, viewer]);
    services.clear();
    clock.advance(499);
    expect(await roles()).toEqual(viewer);
    callers.control(control);
    for (const scheme of route.auth)
      await expect(roles([scheme])).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('have the new roles after they changed', async () => {
    const { callers, services, served, roles } = account();
    expect(await roles()).toEqual(viewer);
    services.set(tokenHash, { ...served, account: { ...served.account, roles: memberRoles } });
    callers.control({ kind: 'user_roles_changed', userId: 'account-1' });
    expect(await roles()).toEqual(memberRoles);
  });

  it('revoked while being read are read again, and are not remembered', async () => {
    const { callers, services, roles } = account();
    const byHash = services.get.bind(services);
    let reads = 0;
    services.get = (hash) => {
      const found = byHash(hash);
      if (++reads > 1) return found;
      services.clear();
      callers.control({ kind: 'login_ended', tokenHash });
      return found;
    };
    await expect(roles()).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(roles()).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('are taken while other logins end all the time', async () => {
    const { callers, services, roles } = account();
    const byHash = services.get.bind(services);
    services.get = (hash) => {
      callers.control({ kind: 'login_ended', tokenHash: 'another' });
      return byHash(hash);
    };
    expect(await roles()).toEqual(viewer);
  });
});

describe('the login of a user who was removed', () => {
  it('is not valid any more, although the store has it still', async () => {
    const { callers, people } = edge();
    const { caller } = await callers.find(
      { auth: ['cookie'], role: 'viewer' },
      new Map(Object.entries(asUser)),
      '',
    );
    const login = caller as Extract<Caller, { kind: 'user' }>;
    expect(await callers.isStillValid(login)).toBe(true);
    people.user = null;
    expect(await callers.isStillValid(login)).toBe(false);
  });
});

describe('either', () => {
  it('takes the key before the cookie, and asks for one of them', async () => {
    const { pipeline } = edge();
    const call = async (headers: { [name: string]: string }) =>
      jsonOf(await pipeline.handle(raw('POST', '/api/v1/echo/a', headers, '{"text":""}')));
    expect((await call({ ...asUser, ...asKey })).caller).toBe('key');
    expect((await call(asUser)).caller).toBe('user');
    expect((await call({ ...asUser, authorization: 'Basic x' })).caller).toBe('user');
    expect((await call({ ...asUser, authorization: 'Bearer svk_wrong' })).detail).toBe(
      'Invalid or revoked API key.',
    );
    expect((await call({ 'x-requested-with': 'x' })).detail).toBe('Authentication required.');
  });
});

describe('CSRF', () => {
  const post = async (headers: { [name: string]: string }, path = '/api/v1/keys') => {
    const { pipeline } = edge();
    const response = await pipeline.handle(raw('POST', path, headers, '{"email":"a","text":""}'));
    return [response.status, jsonOf(response).detail];
  };

  it('is checked before who calls', async () => {
    expect(await post({})).toEqual([403, 'Missing CSRF header.']);
    expect(await post({ 'x-requested-with': '' })).toEqual([403, 'Missing CSRF header.']);
    expect(await post({ 'x-requested-with': 'anything' })).toEqual([401, 'Not authenticated.']);
  });

  it('exempts a request with a key, unless it also carries a login cookie', async () => {
    expect((await post(asKey, '/api/v1/echo/a'))[0]).toBe(201);
    expect((await post({ authorization: 'Bearer svk_' }, '/api/v1/echo/a'))[0]).toBe(403);
    const both = { ...asKey, cookie: 'service_session=token' };
    expect(await post(both, '/api/v1/echo/a')).toEqual([403, 'Missing CSRF header.']);
  });

  it('has its own words for the setup, and exempts operator tokens', async () => {
    expect(await post({}, '/api/v1/setup')).toEqual([403, 'Missing X-Requested-With header.']);
    const { pipeline } = edge();
    const act = (token: string) =>
      pipeline.handle(raw('POST', '/api/v1/operator/act', { authorization: `Bearer ${token}` }));
    expect((await act('operate-me')).status).toBe(204);
    expect((await act('operate-you')).status).toBe(401);
  });
});
