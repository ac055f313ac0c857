// Calls of the page Test: the form has all of a case's call.
import { expect, it } from 'vitest';
import {
  callOf,
  casesText,
  keptOf,
  readCall,
  readCaseFile,
} from '../../src/dashboard/pages/playground/call.ts';

const call = {
  tool: 'refund',
  args: { amount: 120 },
  environment: 'staging',
  principal: {
    ...{ user_id: 'u-1', service_id: 'billing', org_id: 'acme', role: 'clerk', ticket_ref: 'T-7' },
    claims: { team: 'leads' },
  },
  metadata: { batch: 3 },
  cwd: '/srv',
};
const kept = keptOf('the whole call', { call }, { verdict: 'allow' });

it('keeps each field of the principal in the form and in a file of cases', () => {
  expect(readCall(callOf(kept))).toEqual({ ok: true, value: { call } });
  const [read] = readCaseFile(casesText('bundle.yaml', [kept]));
  expect(read?.call.principal).toEqual(call.principal);
});

it.each([
  [{ org_id: 'acme' }],
  [{ service_id: 'billing' }],
  [{ ticket_ref: 'T-7' }],
  [{ claims: { team: 'leads' } }],
  [null],
])('has a principal with no other fields than those of the case: %j', (principal) => {
  const form = callOf(keptOf('one field', { call: { ...call, principal } }, kept.expect));
  expect(readCall(form)).toMatchObject({ value: { call: { principal } } });
});
