// Agents of a batch are noted after its events: a failure leaves the events stored, and the caller is told of both.
import { expect, it } from 'vitest';
import { notingAgents } from '../../../adapters/mongo/event-ingest.ts';
import { countVerdicts } from '../../../src/event/record.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent } from '../../conformance/fixtures.ts';

it('returns what was stored when an agent cannot be noted, and the failure beside it', async () => {
  const result = { accepted: 1, duplicates: 0, verdicts: countVerdicts([]), outcomes: 0 };
  const failure = new Error('away');
  const ingest = notingAgents(async () => result, { noteSeen: () => Promise.reject(failure) });
  const batch = { ...aBatch('t', [anEvent()]), agents: [{ agentId: 'agent-1', newId: null }] };
  expect(await ingest(batch)).toEqual({ ...result, agentsError: failure });
});
