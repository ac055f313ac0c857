// The contents of a tenant file, and the sizes of its parts.
import type { RecordKind } from '../../shared/ports/moved-records.ts';

/** Bytes of a member, at most: a part of an import is one. */
export const maxMemberBytes = 8 << 20;

/**
 * Kinds of the records in a tenant file, in their order. A kind comes after those that its records name; approvals come
 * late, because a due one may wake the environment. Statistics and the order of exports follow from the events, and so
 * do runs: a file contains those alone that lost records, for their mark. They come last, because a run is marked
 * before its records go.
 */
export const tenantFileKinds = [
  'users',
  'identities',
  'workspaces',
  'keys',
  'serviceAccounts',
  'serviceTokens',
  'views',
  'bundles',
  'deployments',
  'signing',
  'contracts',
  'libraries',
  'rules',
  'settings',
  'channels',
  'deliveries',
  'aiUsage',
  'agents',
  'agentStreams',
  'reports',
  'leftOut',
  'toolPins',
  'toolDefinitions',
  'retentionCounts',
  'auditHeads',
  'auditLinks',
  'events',
  'approvalArgs',
  'approvals',
  'runs',
] as const satisfies readonly RecordKind[];

export type TenantFileKind = (typeof tenantFileKinds)[number];
