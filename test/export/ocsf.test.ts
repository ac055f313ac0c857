// Lines in the form of OCSF 1.8.0 are valid by the schema of each class with its profiles (PyPI: ocsf-json-schema).
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../src/event/record.ts';
import { ocsfEvent } from '../../src/export/console/ocsf.ts';
import type { ExportRecord } from '../../src/export/record.ts';
import { asRequested } from '../../src/export/record.ts';
import { anApproval, anEvent, hostileTexts, t0, uuid } from '../conformance/fixtures.ts';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { pipVenv } from '../services/command.ts';

const validator = `
import json, sys
from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema
schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version='1.8.0'))
classes = {6003: 'api_activity', 1007: 'process_activity'}
validators = {uid: Draft202012Validator(schema.get_class_schema(name, ['ai_operation', 'security_control']))
              for uid, name in classes.items()}
for line in open(sys.argv[1], encoding='utf-8'):
    event = json.loads(line)
    for error in validators[event['class_uid']].iter_errors(event):
        print(event['status_detail'] if 'status_detail' in event else event['type_uid'], error.json_path, error.message[:200])
print('done')
`;

const stored = (over: Partial<StoredEvent> = {}): StoredEvent => ({
  ...anEvent(over),
  id: uuid(),
  seq: 1,
  env: 'production',
  createdAt: t0,
  outcomes: [],
  ...over,
});
const event = (over: Partial<StoredEvent> = {}): ExportRecord => ({ type: 'event', event: stored(over) });
const context = { cursor: 'c', tenantId: uuid(), version: '1.0.0' };

const verdicts = [
  'call_allowed',
  'call_denied',
  'call_would_deny',
  'call_approval_requested',
  'call_approval_timeout',
  'call_executed',
  'call_failed',
  'workflow_completed',
  'something else',
];

const outcome = {
  verdict: 'call_failed',
  timestamp: t0 + 0.5,
  decisionSource: null,
  decisionName: 'r',
  reason: 'x',
};
const decided = anApproval({ status: 'denied', decidedBy: 'ada', decidedAt: t0 + 1 });
const entry = {
  id: uuid(),
  occurred_at: new Date(t0).toISOString(),
  actor: { type: 'operator', id: 'ann', display: 'Ann' },
  action_type: 'key.created',
  subject_type: 'key',
  summary: 'Key fleet was made.',
};

const shell = { toolName: 'Bash', payload: { tool_args: { command: 'rm -rf /' }, session_id: 's' } };

const records: readonly ExportRecord[] = [
  ...verdicts.map((verdict) => event({ verdict })),
  ...rowsOfRun(verdicts, 3).map((verdict) => event({ verdict, mode: 'observe', ...shell })),
  ...rowsOfRun(hostileTexts, 3).map((text) =>
    event({ toolName: text, agentId: text, callId: text, verdict: text, payload: { reason: text } }),
  ),
  { type: 'outcome', event: stored(), outcome },
  { type: 'outcome', event: stored(shell), outcome: { ...outcome, decisionName: null, reason: null } },
  { type: 'approval_requested', approval: asRequested(decided) },
  { type: 'approval_decided', approval: decided },
  { type: 'approval_expired', approval: anApproval({ status: 'timeout', contractName: 'ask' }) },
  { type: 'audit_entry', entry },
];

itAtNight(
  'writes valid events of the classes 6003 and 1007',
  async () => {
    const bin = await pipVenv('ocsf', 'ocsf-json-schema==1.2.0 jsonschema==4.23.0');
    const folder = await mkdtemp(join(tmpdir(), 'reeve-ocsf-'));
    const path = join(folder, 'lines.ndjson');
    const lines = records.map((record) => ocsfEvent(record, context));
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const words = execFileSync(join(bin, 'python'), ['-c', validator, path], { encoding: 'utf8' });
    expect(words.trim().split('\n')).toEqual(['done']);
  },
  300_000,
);

it('names shells, denials and sessions by the words of the schema', () => {
  const of = (record: ExportRecord) => ocsfEvent(record, context);
  expect(of(event({ verdict: 'call_denied' }))).toMatchObject({
    class_uid: 6003,
    action: 'Denied',
    disposition: 'Blocked',
    api: { operation: 'read_file' },
    policy: { name: 'no-secrets' },
    metadata: { version: '1.8.0', profiles: ['ai_operation', 'security_control'] },
    unmapped: { cursor: 'c' },
  });
  expect(of(event({ ...shell, verdict: 'call_denied' }))).toMatchObject({
    class_uid: 1007,
    category_uid: 1,
    process: { cmd_line: 'rm -rf /' },
    actor: { session: { uid: 's' } },
  });
  expect(of(event({ verdict: 'call_denied', mode: 'observe' }))).toMatchObject({ action: 'Observed' });
  expect(of({ type: 'approval_decided', approval: decided })).toMatchObject({
    action: 'Denied',
    unmapped: { record: { id: decided.id, status: 'denied' } },
  });
});
