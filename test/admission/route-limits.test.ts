// The limits of a request: what they read of it, and that a handler counts only what its route declares.
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../src/admission/limit.ts';
import { createRouteLimits, type LimitedRoute } from '../../src/admission/route-limits.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import { HubError } from '../../src/shared/error.ts';

const state = { max: 1, left: 1, seconds: 60 };
const rateLimits = {
  count: async () => state,
  check: async () => {},
  takeBack: async () => {},
  look: async () => state,
};
const limit: Limit = { name: 'test', per: 'tenant', max: 1 };
const caller = { kind: 'key', tenantId: 't', env: 'production', agentId: null } as Caller;
const of = (route: Omit<LimitedRoute, 'path'>) =>
  createRouteLimits(rateLimits, { path: '/v1/route', ...route }, caller, '');

describe('the limits of a request', () => {
  it('do not look into a body that is bytes', async () => {
    let looks = 0;
    const body = new Proxy(new Uint8Array(16), {
      ownKeys: (bytes) => {
        looks++;
        return Reflect.ownKeys(bytes);
      },
    });
    await of({ limits: [limit] }).before({ params: {}, body });
    expect(looks).toBe(0);
  });

  it('leave out of the answer what cannot be read', async () => {
    const other: Limit = { ...limit, name: 'other' };
    const away = {
      ...rateLimits,
      look: async (one: Limit) => {
        if (one === limit) throw new HubError('unavailable', 'No answer.');
        return state;
      },
    };
    const route = { path: '/v1/route', limits: [limit, other] };
    expect(await createRouteLimits(away, route, caller, '').left()).toEqual([state]);
  });

  it('are those that the route declares, whatever the handler asks of them', async () => {
    const { own } = of({ limits: [limit] });
    await own.count(limit);
    const other: Limit = { ...limit, name: 'other' };
    for (const asked of [own.count, own.tryCount, own.check, own.takeBack]) {
      await expect(asked(other)).rejects.toThrow("counts the limit 'other' and does not declare it");
    }
  });
});
