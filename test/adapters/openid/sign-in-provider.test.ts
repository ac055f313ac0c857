// The document of the identity provider is fetched by one browser's sign-in for all.
import { expect, it } from 'vitest';
import { createSignInProvider } from '../../../adapters/openid/sign-in-provider.ts';
import type { OutboundAnswer } from '../../../src/shared/ports/outbound.ts';
import { ManualClock } from '../../clock.ts';
import { silentLog } from '../../log.ts';

const issuer = 'https://issuer.example';
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
};
const answer = (status: number): OutboundAnswer => ({
  status,
  headers: new Map([['content-type', 'application/json']]) as never,
  body: Buffer.from(JSON.stringify(metadata)),
});

it('is fetched once for many sign-ins, and not at once again after a failure', async () => {
  let calls = 0;
  let status = 500;
  const clock = new ManualClock();
  const provider = createSignInProvider({
    ...{ issuer, clientId: 'console', clientSecret: 'secret', clock, log: silentLog },
    outbound: {
      send: async () => {
        calls++;
        return answer(status);
      },
    },
  });
  const begin = async () => provider.begin('https://hub.example/auth/oidc/callback', request);
  const request = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) };
  const many = async () => Promise.allSettled(Array.from({ length: 100 }, begin));
  const away = { status: 'rejected', reason: { code: 'unavailable' } };
  for (const result of [...(await many()), ...(await many())]) expect(result).toMatchObject(away);
  expect(calls).toBe(1);
  status = 200;
  clock.advance(5_000);
  for (const result of await many())
    expect(result).toMatchObject({ value: expect.stringContaining(`${issuer}/authorize?`) });
  expect(calls).toBe(2);
  clock.advance(5 * 60_000);
  await many();
  expect(calls).toBe(3);
});
