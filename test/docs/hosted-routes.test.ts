// The hosted API's table of endpoints against the routes that are declared: every one is served.
import { expect, it } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';

/** Method and path, parameters as `{}`. */
const promised = [
  'GET /v1/runs',
  'GET /v1/agents',
  'GET /v1/agents/{}',
  'GET /v1/agents/{}/workflow-state',
  'GET /v1/rulesets',
  'GET /v1/rulesets/{}',
  'PUT /v1/rulesets/{}',
  'GET /v1/rulesets/{}/versions',
  'GET /v1/rulesets/{}/versions/{}',
  'GET /v1/rulesets/{}/current',
  'GET /v1/rulesets/{}/replay',
  'POST /v1/events',
  'GET /v1/events',
  'GET /v1/events/stream',
  'GET /v1/audit',
  'POST /v1/approvals',
  'GET /v1/approvals',
  'GET /v1/approvals/{}',
  'POST /v1/approvals/{}/decide',
  'GET /v1/keys',
  'POST /v1/keys',
  'DELETE /v1/keys/{}',
  'GET /v1/notifications/channels',
  'POST /v1/notifications/channels',
  'PUT /v1/notifications/channels/{}',
  'DELETE /v1/notifications/channels/{}',
  'POST /v1/notifications/channels/{}/test',
  'POST /v1/chat_bot/webhook/{}',
];

const declarations: readonly RouteDeclaration[] = Object.values(hostedApi);

it('declares every endpoint of the table', () => {
  const declared = new Set(
    declarations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\+?\}/g, '{}')}`),
  );
  expect(promised.filter((one) => !declared.has(one))).toEqual([]);
});

it('takes a cookie on the stream of events alone, and asks everybody but chat platforms and probes who they are', () => {
  for (const { path, auth, method } of declarations) {
    if (path !== '/v1/events/stream')
      expect({ path, cookie: auth.includes('cookie') }).toEqual({ path, cookie: false });
    const open = path.startsWith('/v1/chat_bot/') || path.startsWith('/v1/health');
    expect({ method, path, open: auth.length === 0 }).toEqual({ method, path, open });
  }
});

it('changes nothing for keys but what agents do', () => {
  const byKey = declarations
    .filter(({ method, auth }) => method !== 'GET' && auth.includes('hostedKey'))
    .map(({ method, path }) => `${method} ${path}`);
  const agents = /^(POST \/v1\/(events|approvals|sample-run)|(PUT|POST|DELETE) \/v1\/sessions\/)/;
  expect(byKey.filter((one) => !agents.test(one))).toEqual([]);
});
