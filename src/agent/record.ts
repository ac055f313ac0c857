// Agents: registrations, assignment rules and drift. Which rule an agent gets is in assignment.ts. Pure.
import { z } from 'zod';
import { manifestForm } from '../event/record/json.ts';
import type { StoredManifest } from '../event/record.ts';
import type { Env } from '../shared/ids.ts';
import { field, instant, json, type RecordOf, record, type StoredOf } from '../shared/record.ts';
import { env, uuid } from '../shared/schemas.ts';
import { agentApis, type SeenOn } from '../shared/vocabulary.ts';

export type Tags = { readonly [key: string]: string };
const tagMap = z.record(z.string(), z.string());
export const agentApi = z.enum(agentApis);
export const driftStatus = z.enum(['current', 'drift', 'unknown']);
export type DriftStatus = z.output<typeof driftStatus>;
/** By what an agent follows its bundle. */
export const assignmentSource = z.enum(['explicit', 'rule', 'agent_provided', 'none']);

const registrationFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  agentId: field(z.string()),
  displayName: field(z.string().nullable()),
  tags: field(json<Tags, typeof tagMap>(tagMap), { shorten: 'list' }),
  /** Explicit assignment. */
  bundleName: field(z.string().nullable()),
  /** The bundle that its assignment or a rule of its last environment gives it. */
  resolvedBundle: field(z.string().nullable(), { stored: false }),
  manifest: field(json<StoredManifest, z.ZodUnknown>(z.unknown(), manifestForm).nullable(), { wire: false }),
  lastEnv: field(env.nullable(), { wire: false }),
  /** Every environment in which it was seen, in their usual order. */
  seenEnvs: field(z.array(env), { wire: false }),
  lastSeenAt: field(instant.nullable()),
  createdAt: field(instant),
  /**
   * Since when it is retired: it had no assignment and was not seen for long. It keeps its id, names and tags, but no
   * list shows it, and it counts as new when it is seen again. Null while it lives.
   */
  retiredAt: field(instant.nullable(), { wire: false }),
  /** This field and the next are an `AgentVocabulary`. */
  lastApi: field(agentApi.nullable(), { wire: false }),
  loadsAny: field(z.boolean(), { wire: false }),
};

export type Registration = StoredOf<typeof registrationFields>;

export const registrationRecord = record('registrations', registrationFields);

/** An agent as the list of the fleet shows it. */
export const fleetAgentRecord = record('agents', {
  agentId: registrationFields.agentId,
  displayName: registrationFields.displayName,
  tags: registrationFields.tags,
  /** Environment of the connection, else of the last one. The next fields are about this environment. */
  env: field(env.nullable()),
  bundleName: registrationFields.bundleName,
  /** The bundle that it should run, by its assignment or a rule. */
  resolvedBundle: registrationFields.resolvedBundle,
  assignmentSource: field(assignmentSource),
  /** The bundle that its stream follows. */
  followedBundle: field(z.string().nullable()),
  /** Hash that the agent reported, and the version if one of the newest deployments has the hash. */
  policyVersion: field(z.string().nullable()),
  version: field(z.number().int().nullable()),
  status: field(driftStatus),
  /** The API that it was last seen on: its stream, events, approvals or reports. Null: none is stored. */
  lastApi: field(agentApi.nullable()),
  /** True if the agent receives a document of the vocabulary that it does not load, and keeps the one in use. */
  cannotLoad: field(z.boolean()),
  connected: field(z.boolean()),
  /** Open streams. */
  streams: field(z.number().int()),
  /** The version that the environment runs under the bundle that it should run; null: none. */
  wantedVersion: field(z.number().int().nullable()),
  /** Since when it runs another document than it should; null: it is current, or unknown. */
  driftSince: field(instant.nullable()),
  connectedAt: field(instant.nullable()),
  lastSeenAt: registrationFields.lastSeenAt,
  createdAt: registrationFields.createdAt,
});

/** The registration of an agent that is seen for the first time. @param on null or absent: the API is unknown */
export const newRegistration = ({
  id,
  tenantId,
  agentId,
  env,
  now,
  on,
}: Pick<Registration, 'id' | 'tenantId' | 'agentId'> & {
  readonly env: Env;
  readonly now: number;
  readonly on?: SeenOn | null | undefined;
}): Registration => ({
  id,
  tenantId,
  agentId,
  displayName: null,
  tags: {},
  bundleName: null,
  manifest: null,
  lastEnv: env,
  seenEnvs: [env],
  lastSeenAt: now,
  createdAt: now,
  retiredAt: null,
  lastApi: on?.api ?? null,
  loadsAny: on?.loadsAny ?? false,
});

/** A registration as lists show it. */
export type RegistrationSummary = Omit<Registration, 'manifest'>;

/** Sort keys of registrations. Equal ones are in the order of their agent ids. */
export const agentOrders = ['agentId', 'lastSeenAt', 'createdAt'] as const;
export type AgentOrder = (typeof agentOrders)[number];

/** Bundles of which the version that an agent runs is remembered: the newest reports. */
export const maxReportedBundles = 8;

/** A policy version that an agent reported to run, newest per (tenant, env, agent, bundle). */
const reportFields = {
  tenantId: field(z.string()),
  env: field(env),
  agentId: field(z.string()),
  /** Null when the agent did not report the bundle. */
  bundleName: field(z.string().nullable()),
  policyVersion: field(z.string()),
  at: field(instant),
};
export type StoredReport = RecordOf<typeof reportFields>;
export const reportRecord = record('reports', reportFields);
/** A report in an environment of a tenant. */
export type Reported = Omit<StoredReport, 'tenantId' | 'env'>;

/** Transport of a stream's frames. */
const streamTransport = z.enum(['sse', 'websocket']);
export type StreamTransport = z.output<typeof streamTransport>;

/** A stream of an agent, as it is remembered for a week. */
const pastStreamFields = {
  id: field(z.string()),
  tenantId: field(z.string()),
  env: field(env),
  agentId: field(z.string()),
  startedAt: field(instant),
  /** Null: it was open when it was stored. */
  endedAt: field(instant.nullable()),
  /** False: its node died, and `endedAt` is when the hub noticed. */
  isEndNoticed: field(z.boolean()),
  /** Null: not recorded. */
  transport: field(streamTransport.nullable()),
  node: field(z.string()),
};
export type PastStream = RecordOf<typeof pastStreamFields>;
export const pastStreamRecord = record('agent_streams', pastStreamFields);

/** An open stream of an agent. */
const openStreamFields = {
  id: field(z.string()),
  env: field(env),
  connectedAt: field(instant),
  /** Time when the first stream opened that this one continues. */
  startedAt: field(instant, { wire: false }),
  transport: field(streamTransport),
  /** `console` is `/api/v1`, `hosted` is `/v1`. */
  api: field(agentApi),
  /** Bundle that the agent is taken to run; null: all bundles of the environment. */
  bundleName: field(z.string().nullable()),
  /** True if the stream itself requested this bundle: an assignment does not move it. */
  pinned: field(z.boolean()),
  /** Of the API key that opened it. */
  keyId: field(uuid),
  /** The node that holds it; null for who is no admin, as the nodes themselves are not shown. */
  node: field(z.string().nullable()),
};
export const openStreamRecord = record('open_streams', openStreamFields);
export interface OpenStream extends Omit<RecordOf<typeof openStreamFields>, 'env'> {
  readonly node: string;
}

/** An open stream in the list of statuses. */
const agentStatusFields = {
  agentId: field(z.string()),
  env: field(env),
  bundleName: field(z.string().nullable()),
  policyVersion: field(z.string().nullable()),
  status: field(driftStatus),
  /** As in the list of agents; absent when it can. */
  cannotLoad: field(z.literal(true).optional()),
  connectedAt: field(instant),
};
export const agentStatusRecord = record('agent_statuses', agentStatusFields);
export type AgentStatus = RecordOf<typeof agentStatusFields>;

export interface OpenStreams {
  /** Open streams; `streams` contains the newest. */
  readonly total: number;
  readonly streams: readonly OpenStream[];
  /** Ended within the last seconds: the store may not have them. */
  readonly ended: readonly PastStream[];
}

/** Streams of an agent in an environment that are remembered. */
export const maxPastStreams = 200;

const ruleFields = {
  id: field(uuid),
  /** Unique per tenant; the lowest number that matches wins. */
  priority: field(z.number().int()),
  /** fnmatch glob on the agent id. */
  pattern: field(z.string()),
  tagMatch: field(json<Tags, typeof tagMap>(tagMap).nullable()),
  bundleName: field(z.string()),
  env: field(env),
  createdAt: field(instant),
  tenantId: field(z.string(), { wire: false }),
};
export type AssignmentRule = RecordOf<typeof ruleFields>;
export const ruleRecord = record('rules', ruleFields);

/** Agents of an environment that have an open stream, and how they stand: `connected` is the sum of the others. */
export interface FleetNumbers extends Readonly<Record<DriftStatus, number>> {
  readonly connected: number;
}

/**
 * Drift of an agent: its reported version against the revision deployed for its bundle.
 * @param deployed revision hash of (bundle, env), or null when nothing is deployed
 */
export function driftOf(policyVersion: string | null, deployed: string | null): DriftStatus {
  if (policyVersion === null || policyVersion === '' || deployed === null) return 'unknown';
  return policyVersion === deployed ? 'current' : 'drift';
}

/** A place in a list of registrations. */
export interface AgentPlace {
  readonly agentId: string;
  /** The time that the list is sorted by; 0 where it is sorted by agent id. */
  readonly at: number;
}

/** A version that agents run, in a cell of the fleet's matrix. */
const matrixVersionFields = {
  /** Of the newest deployment with that hash there; null: no recent deployment of the bundle has it. */
  version: field(z.number().int().nullable()),
  /** Null: they never reported one. */
  policyVersion: field(z.string().nullable()),
  agents: field(z.number().int()),
  /** Since when the longest of them runs another document than it should; null: none does. */
  oldestSince: field(instant.nullable()),
};
export const matrixVersionRecord = record('versions', matrixVersionFields);
export type MatrixVersion = RecordOf<typeof matrixVersionFields>;

/** The deployment in a cell of the fleet's matrix. */
export const matrixDeploymentRecord = record('deployments', {
  id: field(uuid),
  version: field(z.number().int()),
  revisionHash: field(z.string()),
  deployedBy: field(z.string()),
  createdAt: field(instant),
});

/** Versions that connected agents run, for one bundle that they follow. */
export interface FollowedBundle {
  /** Null: they follow none in particular. */
  readonly bundleName: string | null;
  readonly connected: number;
  /** Most agents first, at most 50. */
  readonly versions: readonly Omit<MatrixVersion, 'version'>[];
}
