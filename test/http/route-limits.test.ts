// The limits of a route read no more of a body than the names that they need.
import { expect, it } from 'vitest';
import type { Caller } from '../../src/api/call.ts';
import { createRouteLimits } from '../../src/http/route-limits.ts';

it('do not look into a body that is bytes', async () => {
  const state = { max: 1, left: 1, seconds: 60 };
  const rateLimits = { count: async () => state, look: async () => state };
  const limit = { name: 'test', per: 'tenant', max: 1 } as const;
  const route = { limits: [limit], path: '/v1/bytes' };
  const caller = { kind: 'key', tenantId: 't', env: 'production', agentId: null } as Caller;
  let looks = 0;
  const body = new Proxy(new Uint8Array(16), {
    ownKeys: (bytes) => {
      looks++;
      return Reflect.ownKeys(bytes);
    },
  });
  await createRouteLimits(rateLimits, route, caller, '').before({ params: {}, body });
  expect(looks).toBe(0);
});
