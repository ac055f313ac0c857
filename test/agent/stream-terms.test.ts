// Streams that ask for the same share one object for it.
import { expect, it } from 'vitest';
import { SharedTerms, type StreamRequest } from '../../src/agent/use-cases/stream-terms.ts';
import { agentsOf, eventsOf } from '../../src/shared/frame.ts';

const noTags = {};
const request = (changes: Partial<StreamRequest> = {}): StreamRequest => ({
  tenantId: 't1',
  env: 'production',
  agentId: 'a1',
  connectionId: 'c1',
  client: { keyId: 'key-1', agentId: 'a1', network: '10.0.0.1' },
  transport: 'sse',
  api: 'console',
  loadsAny: false,
  wantsIsolation: false,
  requested: null,
  policyVersion: 'v1',
  tags: noTags,
  resumes: false,
  audience: agentsOf('t1', 'production'),
  skips: null,
  ...changes,
});

it('shares terms between agents, keys and clients', () => {
  const terms = new SharedTerms();
  const client = { keyId: 'key-2', agentId: 'a2', network: '10.0.0.2' };
  const other = request({ agentId: 'a2', connectionId: 'c2', client });
  expect(terms.of(other)).toBe(terms.of(request()));
  expect(terms.of(request())).not.toHaveProperty('agentId');
});

const decisions = { audience: eventsOf('t1'), toFrame: (frame: never) => frame } as const;

it.each<Partial<StreamRequest>>([
  { tenantId: 't2' },
  { env: 'staging' },
  { transport: 'websocket' },
  { api: 'hosted' },
  { loadsAny: true },
  { wantsIsolation: true },
  { requested: 'base' },
  { policyVersion: 'v2' },
  { policyVersion: null },
  { resumes: true },
  { audience: agentsOf('t1', 'staging') },
  { skips: () => true },
  { fetched: () => null },
  { decisions },
])('gives a stream that differs by %o terms of its own', (changes) => {
  const terms = new SharedTerms();
  const first = terms.of(request());
  const own = terms.of(request(changes));
  expect(own).not.toBe(first);
  expect(own).toMatchObject(changes);
  expect(terms.of(request(changes))).toBe(own);
});

it('remembers no tags', () => {
  const terms = new SharedTerms();
  const tags = { team: 'a' };
  const first = terms.of(request({ tags }));
  expect(first.tags).toBe(tags);
  expect(terms.of(request({ tags }))).not.toBe(first);
  expect(terms.of(request()).tags).toEqual({});
});

it('remembers 64 terms of a tenant, the newest', () => {
  const terms = new SharedTerms();
  const first = terms.of(request({ policyVersion: '0' }));
  for (let n = 1; n < 64; n++) terms.of(request({ policyVersion: String(n) }));
  expect(terms.of(request({ policyVersion: '0' }))).toBe(first);
  terms.of(request({ policyVersion: '64' }));
  expect(terms.of(request({ policyVersion: '0' }))).not.toBe(first);
});
