// Tenants, people, keys and other nouns with rows of their own, as documents of a move.
import type { Document } from 'mongodb';
import { registrationRecord, ruleRecord } from '../../../src/agent/record.ts';
import { aiDayRecord } from '../../../src/assistant/record.ts';
import { channelRecord, deliveryRecord } from '../../../src/notification/record.ts';
import type { MovedRecords, SingleKind } from '../../../src/shared/ports/moved-records.ts';
import { settingRecord } from '../../../src/tenant/record.ts';
import { keepEverything } from '../../../src/tenant/rules/retention.ts';
import { fromRow, toRow } from '../form.ts';
import type { Form, Forms, StoredKind } from './forms.ts';

/** A record whose fields are those of its document. */
const plain = <K extends StoredKind>(collection: string): Form<K> => ({
  collection,
  toDocument: (record) => toRow(record as unknown as { readonly id: string }),
  toRecord: (document) => fromRow(document as never) as MovedRecords[K],
});

/** A record whose document follows from the declaration of its fields. */
const declared = <K extends StoredKind>(
  collection: string,
  {
    toDocument,
    fromDocument,
  }: {
    toDocument(record: MovedRecords[K]): Document;
    fromDocument(document: Document): MovedRecords[K];
  },
): Form<K> => ({ collection, toDocument, toRecord: fromDocument });

/** A record under an id that follows from some of its fields. */
const under = <K extends StoredKind>(
  collection: string,
  idOf: (record: MovedRecords[K]) => string,
): Form<K> => ({
  collection,
  toDocument: (record) => ({ _id: idOf(record), ...record }),
  toRecord: ({ _id, ...record }) => record as MovedRecords[K],
});

const idList = (...parts: readonly (string | null)[]): string => JSON.stringify(parts);

export const peopleForms: Forms<SingleKind> = {
  seals: {
    collection: 'seals',
    toDocument: ({ name, value }) => ({ _id: name, value }),
    toRecord: ({ _id, value }) => ({ name: String(_id), value: String(value) }),
  },
  tenants: plain('tenants'),
  users: plain('users'),
  logins: {
    collection: 'logins',
    toDocument: ({ tokenHash, ...rest }) => ({ _id: tokenHash, ...rest }),
    toRecord: ({ _id, ...rest }) => ({ tokenHash: String(_id), ...rest }) as MovedRecords['logins'],
  },
  signIns: {
    collection: 'signIns',
    toDocument: ({ userId, network, lastAt }) => ({ _id: idList(userId, network), userId, lastAt }),
    toRecord: ({ _id, userId, lastAt }) => ({
      userId: String(userId),
      network: String((JSON.parse(String(_id)) as string[])[1]),
      lastAt: Number(lastAt),
    }),
  },
  identities: under('identities', ({ issuer, subject }) => idList(issuer, subject)),
  workspaces: {
    collection: 'workspaces',
    toDocument: ({ issuer, workspaceId, tenantId }) => ({ _id: idList(issuer, workspaceId), tenantId }),
    toRecord({ _id, tenantId }) {
      const [issuer = '', workspaceId = ''] = JSON.parse(String(_id)) as string[];
      return { issuer, workspaceId, tenantId: String(tenantId) };
    },
  },
  keys: plain('keys'),
  serviceAccounts: plain('serviceAccounts'),
  serviceTokens: plain('serviceTokens'),
  operatorTokens: plain('operatorTokens'),
  views: plain('views'),
  agentStreams: plain('agentStreams'),
  rules: declared('rules', ruleRecord),
  settings: {
    collection: 'settings',
    toDocument: (setting) => ({
      _id: idList(setting.tenantId, setting.name),
      ...settingRecord.toDocument(setting),
    }),
    toRecord: (document) => settingRecord.fromDocument(document) as MovedRecords['settings'],
  },
  channels: declared('channels', channelRecord),
  deliveries: declared('deliveries', deliveryRecord),
  aiUsage: {
    collection: 'aiUsage',
    toDocument(record) {
      const { cost, ...day } = aiDayRecord.toDocument(record);
      return { _id: idList(day.tenantId, day.day), ...day, ...(cost === null ? {} : { cost }) };
    },
    toRecord: aiDayRecord.fromDocument,
  },
  agents: declared('agents', registrationRecord),
  reports: under('reports', ({ tenantId, env, agentId, bundleName }) =>
    idList(tenantId, env, agentId, bundleName),
  ),
  leftOut: under('leftOut', ({ tenantId, hour }) => `${hour} ${tenantId}`),
  idempotency: {
    collection: 'idempotency',
    toDocument: ({ tenantId, id, ...rest }) => ({ _id: idList(tenantId, id), ...rest }),
    toRecord({ _id, ...rest }) {
      const [tenantId = '', id = ''] = JSON.parse(String(_id)) as string[];
      return { tenantId, id, ...rest } as MovedRecords['idempotency'];
    },
  },
  retentionCounts: {
    collection: 'retentionCounts',
    toDocument: ({ tenantId, removed }) => ({ _id: tenantId, rev: 1, ...removed }),
    toRecord: ({ _id, rev: _rev, ...removed }) => ({
      tenantId: String(_id),
      removed: { ...keepEverything, ...removed },
    }),
  },
};
