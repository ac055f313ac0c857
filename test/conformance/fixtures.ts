// Records for the contract suites: complete, valid and unlike each other. No store and no assertion here.
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { AssignmentRule } from '../../src/agent/record.ts';
import type { Approval } from '../../src/approval/record.ts';
import type { AuditNote } from '../../src/audit/record.ts';
import type { NewBundle } from '../../src/bundle/port.ts';
import type { Composition, CompositionItem } from '../../src/composition/record.ts';
import type { ContractVersion } from '../../src/contract/record.ts';
import type { Deployment } from '../../src/deployment/record.ts';
import type { EventInput } from '../../src/event/record.ts';
import type { ApiKey } from '../../src/key/record.ts';
import { adminRoles } from '../../src/shared/env-roles.ts';
import type { Page, PageRequest } from '../../src/shared/ports/page.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import type { ValueWriter } from '../../src/shared/ports/values.ts';
import type { KeySuccession, SigningKey } from '../../src/signing/record.ts';
import type { Tenant } from '../../src/tenant/record.ts';
import type { Login, User } from '../../src/user/record.ts';

export type Open = () => Promise<DocumentStore>;

export const uuid = (): string => randomUUID();
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
export const hex128 = (seed: string): string => sha256(`${seed}/1`) + sha256(`${seed}/2`);
/** A moment in 2026; tests count from it. */
export const t0 = Date.UTC(2026, 5, 1);

/** Texts that break what builds queries, patterns, paths or object keys out of strings. */
export const hostileTexts: readonly string[] = [
  '{"$gt":""}',
  '%',
  '_',
  "'; DROP TABLE users; --",
  '"double" and \\back\\',
  '__proto__',
  'constructor',
  'a\u0000b',
  '\u0000',
  '\u0001',
  '$where',
  'a.b.$c',
  '🦄 ünïcödé \u202e',
  ' leading and trailing ',
  '',
];

/** One store for all suites of a file, closed after its last test: opening one costs more than most suites. */
export function storeOfFile(open: Open): Open {
  let store: Promise<DocumentStore> | undefined;
  afterAll(async () => {
    await (await store)?.close();
  });
  return async () => {
    store ??= open();
    return { ...(await store), close: async () => {} };
  };
}

/** Opens one store for a suite and closes it at its end. Each test takes a tenant of its own. */
export function sharedStore<S extends { close(): Promise<void> }>(
  open: () => Promise<S>,
): { readonly get: () => S } {
  let store: S | undefined;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(async () => {
    await store?.close();
  });
  return {
    get: () => {
      if (!store) throw new Error('the store is not open');
      return store;
    },
  };
}

/** The first page of a list that is not long. */
export const firstPage: PageRequest = { limit: 1000, offset: 0 };

export const itemsOf = async <T>(page: Promise<Page<T>>): Promise<readonly T[]> => (await page).items;

/** A writer of session values, with room for more than a test needs. */
export const writerOf = (tenantId: string, over: Partial<ValueWriter> = {}): ValueWriter => ({
  tenantId,
  env: 'production',
  quota: { maxBytes: 2 ** 40, maxKeys: 2 ** 40 },
  ...over,
});

/** Runs `task` n times at once. */
export const parallel = <T>(n: number, task: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, index) => task(index)));

export const aTenant = (over: Partial<Tenant> = {}): Tenant => ({
  id: uuid(),
  name: 'Acme',
  createdAt: t0,
  ...over,
});

export const aUser = (over: Partial<User> = {}): User => ({
  id: uuid(),
  tenantId: uuid(),
  email: `${uuid()}@example.org`,
  passwordHash: 'scrypt$16384$c2FsdA$aGFzaA',
  roles: adminRoles,
  createdAt: t0,
  ...over,
});

export const aLogin = (over: Partial<Login> = {}): Login => ({
  tokenHash: sha256(uuid()),
  userId: uuid(),
  tenantId: uuid(),
  createdAt: t0,
  expiresAt: t0 + 3_600_000,
  lastSeenAt: t0,
  network: '192.0.2.0/24',
  browser: 'Firefox on Linux',
  method: 'password',
  providerSession: null,
  ...over,
});

export const aKey = (over: Partial<ApiKey> = {}): ApiKey => ({
  id: uuid(),
  tenantId: uuid(),
  env: 'production',
  label: 'build server',
  prefix: 'svk_production_abcdefgh',
  hash: sha256(uuid()),
  agentPattern: null,
  createdBy: 'ada@example.org',
  createdAt: t0,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  ...over,
});

export const aSigningKey = (over: Partial<SigningKey> = {}): SigningKey => ({
  id: uuid(),
  tenantId: uuid(),
  publicKey: sha256(uuid()),
  sealedSeed: Buffer.from(uuid()).toString('base64'),
  active: true,
  createdAt: t0,
  ...over,
});

export const aSuccession = (over: Partial<KeySuccession> = {}): KeySuccession => ({
  previousKey: sha256(uuid()),
  publicKey: sha256(uuid()),
  rotatedAt: t0,
  signature: hex128(uuid()),
  ...over,
});

export const aContract = (over: Partial<ContractVersion> = {}): ContractVersion => ({
  id: uuid(),
  tenantId: uuid(),
  contractId: `contract-${uuid()}`,
  version: 1,
  name: 'No secrets',
  description: 'Keeps secrets where they are',
  type: 'pre',
  definition: {
    tools: ['read_file'],
    when: { 'args.path': { matches: '\\.env$' } },
    mode: 'enforce',
  },
  tags: ['files', 'secrets'],
  createdBy: 'ada@example.org',
  createdAt: t0,
  ...over,
});

export const anItem = (over: Partial<CompositionItem> & { contractId: string }): CompositionItem => ({
  version: 1,
  position: 10,
  modeOverride: null,
  enabled: true,
  ...over,
});

export const aComposition = (over: Partial<Composition> = {}): Composition => ({
  id: uuid(),
  tenantId: uuid(),
  name: 'base',
  description: 'What every agent obeys',
  defaultsMode: 'enforce',
  updateStrategy: 'manual',
  documentKind: null,
  items: [],
  toolsConfig: { read_file: { side_effect: 'read' } },
  observability: null,
  createdBy: 'ada@example.org',
  createdAt: t0,
  updatedAt: t0,
  ...over,
});

export function aBundle(over: Partial<NewBundle> = {}): NewBundle {
  const yaml = over.yaml ?? new TextEncoder().encode(`kind: ContractBundle # ${uuid()} é\n`);
  return {
    id: uuid(),
    tenantId: uuid(),
    name: 'base',
    revisionHash: createHash('sha256').update(yaml).digest('hex'),
    contractCount: 2,
    mode: 'observe',
    description: 'What mail agents may do',
    size: yaml.byteLength,
    uploadedBy: 'ada@example.org',
    createdAt: t0,
    compositionId: null,
    snapshot: null,
    ...over,
    yaml,
  };
}

let sequences = 0;

/** With a sequence above that of every one made before. */
export const aDeployment = (over: Partial<Deployment> = {}): Deployment => {
  const id = over.id ?? uuid();
  sequences += 1;
  return {
    id,
    tenantId: uuid(),
    env: 'production',
    bundleName: 'base',
    version: 1,
    revisionHash: sha256('base'),
    signature: hex128(id),
    publicKey: sha256('public'),
    sequence: sequences,
    signingKeyId: uuid(),
    attestation: hex128(`attested ${id}`),
    deployedBy: 'ada@example.org',
    createdAt: t0,
    forced: false,
    reason: null,
    documentKind: 'bundle',
    undeployedAt: null,
    undeployedBy: null,
    ...over,
  };
};

export function anApproval(over: Partial<Approval> = {}): Approval {
  const createdAt = over.createdAt ?? t0;
  const timeoutSeconds = over.timeoutSeconds ?? 300;
  const args = { to: 'ada@example.org', nested: { $gt: '' } };
  const { toolArgs = args } = over;
  return {
    id: uuid(),
    tenantId: uuid(),
    status: 'pending',
    agentId: 'agent-1',
    toolName: 'send_mail',
    toolArgs,
    argsBytes: toolArgs === null ? 0 : Buffer.byteLength(JSON.stringify(toolArgs)),
    message: 'May I?',
    env: 'production',
    timeoutEffect: 'deny',
    decisionSource: 'contract',
    contractName: null,
    rulesetName: 'guardrails',
    contracts: [{ name: 'ask-first', message: 'Is it urgent?' }],
    principal: { user_id: 'ada', claims: { $gt: '' } },
    sessionId: 'session-1',
    callId: 'call-1',
    decidedBy: null,
    decidedBySubject: null,
    decidedAt: null,
    decisionReason: null,
    decidedVia: null,
    assignee: null,
    deadline: createdAt + timeoutSeconds * 1000,
    ...over,
    createdAt,
    timeoutSeconds,
  };
}

export const anEvent = (over: Partial<EventInput> = {}): EventInput => ({
  callId: uuid(),
  agentId: 'agent-1',
  toolName: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: t0,
  payload: { tool_args: { path: '/etc/hosts' }, decision_name: 'no-secrets', reason: null },
  ...over,
});

export const aNote = (over: Partial<AuditNote> = {}): AuditNote => ({
  id: uuid(),
  tenantId: uuid(),
  at: t0,
  actor: { type: 'operator', id: 'user-1', display: 'Ann@example.com' },
  action: 'key.created',
  subject: { id: 'key-1', name: 'fleet' },
  summary: 'Key fleet was made.',
  details: { env: null },
  agentId: null,
  sessionId: null,
  ...over,
});

export const aRule = (over: Partial<AssignmentRule> = {}): AssignmentRule => ({
  id: uuid(),
  tenantId: uuid(),
  priority: 10,
  pattern: 'mail-*',
  tagMatch: { team: 'mail' },
  bundleName: 'base',
  env: 'production',
  createdAt: t0,
  ...over,
});
