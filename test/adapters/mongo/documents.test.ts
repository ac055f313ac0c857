// The documents of nouns whose fields are declared once. Databases contain them: a declaration must not change them.
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { forms } from '../../../adapters/mongo/move/all-forms.ts';
import type { StoredKind } from '../../../adapters/mongo/move/forms.ts';
import type { MovedRecords } from '../../../src/shared/ports/moved-records.ts';

function keeps<K extends StoredKind>(
  kind: K,
  cases: readonly (readonly [record: MovedRecords[K], document: Document])[],
): void {
  describe(`documents of ${kind}`, () => {
    it.each(cases)('contain the fields of the record, case %$', (record, document) => {
      expect(forms[kind].toDocument(record)).toStrictEqual(document);
    });

    it.each(cases)('come back as the record, case %$', (record, document) => {
      expect(forms[kind].toRecord(document)).toStrictEqual(record);
    });
  });
}

const delivery: MovedRecords['deliveries'] = {
  id: 'd',
  tenantId: 't',
  channelId: 'c',
  approvalId: 'a',
  event: 'requested',
  status: 'waiting',
  attempts: 1,
  run: 2,
  nextAt: 30,
  giveUpAt: 40,
  createdAt: 10,
  updatedAt: 20,
  messageId: 'm',
  log: [{ at: 15, status: 503, failure: 'status', durationMs: 5 }],
};

const deliveryDocument = {
  _id: 'd',
  tenantId: 't',
  channelId: 'c',
  approvalId: 'a',
  event: 'requested',
  status: 'waiting',
  attempts: 1,
  run: 2,
  nextAt: 30,
  giveUpAt: 40,
  createdAt: 10,
  updatedAt: 20,
  messageId: 'm',
  log: '[{"at":15,"status":503,"failure":"status","durationMs":5}]',
};

keeps('deliveries', [
  [delivery, deliveryDocument],
  [
    { ...delivery, nextAt: null, messageId: null, log: [] },
    { ...deliveryDocument, nextAt: null, messageId: null, log: '[]' },
  ],
]);

keeps('identities', [
  [
    { issuer: 'https://issuer.example', subject: 's', userId: 'u', tenantId: 't', linkedAt: 10 },
    {
      _id: '["https://issuer.example","s"]',
      issuer: 'https://issuer.example',
      subject: 's',
      userId: 'u',
      tenantId: 't',
      linkedAt: 10,
    },
  ],
]);

const tools = { toolArguments: { shell: { line: 'command' } } } as const;

keeps('settings', [
  [
    { tenantId: 't', name: 'tools', value: tools, updatedAt: 10, updatedBy: 'ann@example.com' },
    {
      _id: '["t","tools"]',
      tenantId: 't',
      name: 'tools',
      value: '{"toolArguments":{"shell":{"line":"command"}}}',
      updatedAt: 10,
      updatedBy: 'ann@example.com',
    },
  ],
]);

const day = {
  tenantId: 't',
  day: '2026-06-01',
  queries: 2,
  inputTokens: 30,
  outputTokens: 5,
  durationMs: 100.5,
};
const dayDocument = {
  _id: '["t","2026-06-01"]',
  tenantId: 't',
  day: '2026-06-01',
  queries: 2,
  inputTokens: 30,
  outputTokens: 5,
  durationMs: 100.5,
};

// A day without a known cost has no such field: an update adds to it from 0.
keeps('aiUsage', [
  [
    { ...day, cost: 0.25 },
    { ...dayDocument, cost: 0.25 },
  ],
  [{ ...day, cost: null }, dayDocument],
]);

const agent: MovedRecords['agents'] = {
  id: 'r',
  tenantId: 't',
  agentId: 'a',
  displayName: 'Agent',
  tags: { team: 'x' },
  bundleName: 'b',
  manifest: { agentId: 'a', policyVersion: 'v', contracts: [], updatedAt: 30 },
  lastEnv: 'staging',
  seenEnvs: ['production', 'staging'],
  lastSeenAt: 20,
  createdAt: 10,
  retiredAt: 40,
  lastApi: 'hosted',
  loadsAny: true,
};

const agentDocument = {
  _id: 'r',
  tenantId: 't',
  agentId: 'a',
  displayName: 'Agent',
  tags: '{"team":"x"}',
  bundleName: 'b',
  manifest: '{"agent_id":"a","policy_version":"v","contracts":[],"updatedAt":30}',
  lastEnv: 'staging',
  seenEnvs: ['production', 'staging'],
  lastSeenAt: 20,
  createdAt: 10,
  retiredAt: 40,
  lastApi: 'hosted',
  loadsAny: true,
};

const absentInAgent = {
  displayName: null,
  bundleName: null,
  manifest: null,
  lastEnv: null,
  lastSeenAt: null,
  retiredAt: null,
  lastApi: null,
};

keeps('agents', [
  [agent, agentDocument],
  [
    { ...agent, ...absentInAgent, tags: {}, seenEnvs: [], loadsAny: false },
    { ...agentDocument, ...absentInAgent, tags: '{}', seenEnvs: [], loadsAny: false },
  ],
]);

const channel: MovedRecords['channels'] = {
  id: 'c',
  tenantId: 't',
  name: 'Duty',
  kind: 'email',
  payloadStyle: 'hosted',
  enabled: true,
  filters: { environments: ['staging'], agentPatterns: null, contractNames: null, rulesetNames: null },
  sealedConfig: 'sealed',
  revision: 2,
  createdAt: 10,
  updatedAt: 20,
  lastTestAt: 30,
  lastTestOk: false,
};

const channelDocument = {
  _id: 'c',
  tenantId: 't',
  name: 'Duty',
  kind: 'email',
  payloadStyle: 'hosted',
  enabled: true,
  filters: '{"environments":["staging"],"agentPatterns":null,"contractNames":null,"rulesetNames":null}',
  sealedConfig: 'sealed',
  revision: 2,
  createdAt: 10,
  updatedAt: 20,
  lastTestAt: 30,
  lastTestOk: false,
};

const absentInChannel = { filters: null, lastTestAt: null, lastTestOk: null };

keeps('channels', [
  [channel, channelDocument],
  [
    { ...channel, ...absentInChannel },
    { ...channelDocument, ...absentInChannel },
  ],
]);

const rule: MovedRecords['rules'] = {
  id: 'r',
  tenantId: 't',
  priority: 1,
  pattern: 'a*',
  tagMatch: { team: 'x' },
  bundleName: 'b',
  env: 'production',
  createdAt: 10,
};

const ruleDocument = {
  _id: 'r',
  tenantId: 't',
  priority: 1,
  pattern: 'a*',
  tagMatch: '{"team":"x"}',
  bundleName: 'b',
  env: 'production',
  createdAt: 10,
};

keeps('rules', [
  [rule, ruleDocument],
  [
    { ...rule, tagMatch: null },
    { ...ruleDocument, tagMatch: null },
  ],
]);

const run: MovedRecords['runs'] = {
  tenantId: 't',
  agentId: 'a',
  sessionId: '\ud800',
  env: 'production',
  startedAt: 10.5,
  lastAt: 20.5,
  sample: false,
  receivedAt: 30,
  standing: 'open',
  isTrimmed: false,
  facts: null,
};

// Half of a surrogate pair is kept as a JSON string behind a mark.
const runDocument = {
  _id: '["t","a","\\ud800"]',
  tenantId: 't',
  agentId: 'a',
  sessionId: '\u0001"\\ud800"',
  rev: 1,
  open: [],
  env: 'production',
  startedAt: 10.5,
  lastAt: 20.5,
  sample: false,
  receivedAt: 30,
  standing: 'open',
};

const last = {
  at: 20.5,
  index: 0,
  seq: 1,
  id: 'e',
  action: 'call_allowed',
  toolName: 'shell',
  decisionName: null,
  mode: 'enforce',
} as const;
const facts = {
  env: 'production',
  startedAt: 10.5,
  lastAt: 20.5,
  appliedSeq: 1,
  runId: null,
  parentSessionId: null,
  last,
  lastDecision: last,
  lastWorkflow: null,
  snapshot: null,
  version: null,
  counts: { allow: 1 },
  calls: 1,
} as const;
const lastText =
  '{"at":20.5,"index":0,"seq":1,"id":"e","action":"call_allowed","toolName":"shell","decisionName":null,' +
  '"mode":"enforce"}';

keeps('runs', [
  [run, runDocument],
  [
    { ...run, isTrimmed: true, facts },
    {
      ...runDocument,
      trimmed: true,
      facts:
        '{"env":"production","startedAt":10.5,"lastAt":20.5,"appliedSeq":1,"runId":null,"parentSessionId":null,' +
        `"last":${lastText},"lastDecision":${lastText},"lastWorkflow":null,"snapshot":null,"version":null,` +
        '"counts":{"allow":1},"calls":1}',
    },
  ],
]);

keeps('reports', [
  [
    { tenantId: 't', env: 'staging', agentId: 'a', bundleName: null, policyVersion: 'v', at: 10 },
    {
      _id: '["t","staging","a",null]',
      tenantId: 't',
      env: 'staging',
      agentId: 'a',
      bundleName: null,
      policyVersion: 'v',
      at: 10,
    },
  ],
]);

const args = {
  id: 'a',
  tenantId: 't',
  env: 'production',
  bytes: 5000,
  createdAt: 10,
  json: '{"a":1}',
} as const;
const argsDocument = {
  _id: 'a',
  tenantId: 't',
  env: 'production',
  bytes: 5000,
  createdAt: 10,
  json: '{"a":1}',
};

keeps('approvalArgs', [
  [
    { ...args, keyId: 'k' },
    { ...argsDocument, keyId: 'k' },
  ],
  [
    { ...args, keyId: null },
    { ...argsDocument, keyId: null },
  ],
]);
