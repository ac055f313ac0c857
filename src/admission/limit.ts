// Limits: what may be done how often, counted for whom. Route declarations name them, admission/rate-limit.ts counts
// them. Browser-safe.

import { minuteMs } from '../shared/duration.ts';
import type { HubError } from '../shared/error.ts';
import type { Env } from '../shared/ids.ts';
import { callerName, type LimitedCaller } from './caller-name.ts';

/** Settings of limits. */
export interface LimitSettings {
  /** Of an agent. */
  readonly approvalsPerMinute: number;
  /** Of a tenant's environment. */
  readonly ingestEventsPerMinute: number;
  /** Of a client address, in each `loginWindowMs`: logins, wrong set-up tokens and operator tokens, each by itself. */
  readonly loginAttempts: number;
  readonly loginWindowMs: number;
  /** Of a caller; default 6,000. */
  readonly requestsPerMinute?: number;
}

/**
 * Callers that share a limit. `sender`: an API key, a client address and an agent id together. `network`: a client
 * address. `email`: an e-mail, whether or not a user has it. A limit of an agent or an environment never reaches into
 * another environment.
 */
export type LimitedBy =
  | 'caller'
  | 'tenant'
  | 'environment'
  | 'agent'
  | 'key'
  | 'sender'
  | 'channel'
  | 'network'
  | 'user'
  | 'email'
  | 'device';

type Setting = number | ((settings: LimitSettings) => number);

export interface Limit {
  /** Name of the count. Routes whose limits have the same name share it. */
  readonly name: string;
  readonly per: LimitedBy;
  /** In each window. */
  readonly max: Setting;
  /** Milliseconds; default a minute. */
  readonly windowMs?: Setting;
  /** True: the handler decides when and how much to count. Default: each valid request counts 1, before the handler. */
  readonly byHandler?: true;
  /** True: every node counts by itself. */
  readonly perNode?: true;
  /** Message for the caller. */
  readonly message?: string;
}

/** Everything that a limit may be counted for, as far as it is known. */
export interface LimitSubject {
  readonly caller: LimitedCaller;
  readonly tenantId: string | null;
  readonly env: Env | null;
  readonly agentId: string | null;
  readonly keyId: string | null;
  /** The client's address, as limits count it. */
  readonly network: string;
  readonly channelId: string | null;
  readonly userId: string | null;
  /** SHA-256 of the lower-cased e-mail. */
  readonly emailHash: string | null;
  /** A browser that somebody signed in with. */
  readonly deviceId: string | null;
}

/** The subject of limits, as far as the caller alone determines it. */
export const limitSubjectOf = (
  caller: LimitedCaller & Partial<Pick<LimitSubject, 'tenantId' | 'env' | 'agentId'>>,
  network: string,
): LimitSubject => ({
  caller,
  tenantId: caller.tenantId ?? null,
  env: caller.env ?? null,
  agentId: caller.agentId ?? null,
  keyId: 'keyId' in caller ? caller.keyId : null,
  network,
  channelId: null,
  userId: 'userId' in caller ? caller.userId : null,
  emailHash: null,
  deviceId: null,
});

/** The part of the subject that only the handler knows. */
export interface CountedFor extends Partial<LimitSubject> {
  /** Default 1. */
  readonly cost?: number;
}

/** Counts a limit that the route of the request declares. @throws HubError rate_limited */
export type CountLimit = (limit: Limit, whom?: CountedFor) => Promise<void>;

/** The limits that the route of the request declares, for its handler. Each throws an Error for another one. */
export interface OwnLimits {
  readonly count: CountLimit;
  /** As `count`, but gives the refusal, null when there is none, to whoever may let the request through after all. */
  tryCount(limit: Limit, whom?: CountedFor): Promise<HubError | null>;
  /** Counts nothing. @throws HubError rate_limited when one more would be too many */
  check(limit: Limit, whom?: CountedFor): Promise<void>;
  /**
   * The refusal of a request over a limit, where the route declares `canRepeatOverLimit`: the handler answers a repeat
   * and throws the refusal for any other request. Null: within the limits.
   */
  refusal(): HubError | null;
  /** Takes back what was counted last: a failure that turned out to be none. */
  takeBack(limit: Limit, whom?: CountedFor): Promise<void>;
}

const partsOf: {
  readonly [P in Exclude<LimitedBy, 'caller'>]: readonly Exclude<keyof LimitSubject, 'caller'>[];
} = {
  tenant: ['tenantId'],
  environment: ['tenantId', 'env'],
  // The part that callers choose themselves is at the end, so that no two names are equal.
  agent: ['tenantId', 'env', 'agentId'],
  key: ['keyId', 'network'],
  sender: ['keyId', 'network', 'agentId'],
  channel: ['tenantId', 'channelId'],
  network: ['network'],
  user: ['userId'],
  email: ['emailHash'],
  device: ['deviceId'],
};

/** Name that is counted; null when the subject lacks the field that the limit counts by. */
export function limitName({ name, per }: Pick<Limit, 'name' | 'per'>, subject: LimitSubject): string | null {
  if (per === 'caller') return callerName(name, subject.caller);
  const parts = partsOf[per].map((part) => subject[part]);
  return parts.includes(null) ? null : `${name}:${parts.join('/')}`;
}

const settingOf = (setting: Setting, settings: LimitSettings): number =>
  typeof setting === 'number' ? setting : setting(settings);

export const maxOf = ({ max }: Limit, settings: LimitSettings): number => settingOf(max, settings);
/** Milliseconds. */
export const windowOf = ({ windowMs = minuteMs }: Limit, settings: LimitSettings): number =>
  settingOf(windowMs, settings);

/** Events that a post must hold to count as a batch: smaller ones cost as much as one of many. */
export const fewEvents = 10;

const tooManyApprovals = 'Too many approval requests. Please slow down.';
const tooManyTests = 'Too many tests of this notification channel. Wait before you repeat.';

/** As often as somebody may guess at what signs in from a client address. */
const guesses = {
  per: 'network',
  max: ({ loginAttempts }: LimitSettings) => loginAttempts,
  windowMs: ({ loginWindowMs }: LimitSettings) => loginWindowMs,
} as const;
/** Wrong passwords for an account. */
const failures = { max: 20, windowMs: 15 * minuteMs, byHandler: true } as const;
const tooManyLogins = 'Too many login attempts. Please try again later.';

export const limits = {
  /** Replicas of an agent share its id, and a fleet its key: neither is limited alone. */
  requests: {
    name: 'requests',
    per: 'caller',
    max: ({ requestsPerMinute = 6_000 }) => requestsPerMinute,
    perNode: true,
  },
  /** Of routes that anybody may call. */
  requestsOfNetwork: {
    name: 'requests-network',
    per: 'network',
    max: ({ requestsPerMinute = 6_000 }) => requestsPerMinute,
    perNode: true,
  },
  /** Streams opened. Replicas of an agent may all reconnect at once. */
  streams: { name: 'streams', per: 'caller', max: 60_000, perNode: true },
  /** Every attempt counts, also one that succeeds. */
  logins: { ...guesses, name: 'login', byHandler: true, message: tooManyLogins },
  loginsOfEmail: { ...failures, name: 'login-email', per: 'email', message: tooManyLogins },
  loginsOfDevice: { ...failures, name: 'login-device', per: 'device', message: tooManyLogins },
  /** Wrong tokens alone count. */
  setupTokens: {
    ...guesses,
    name: 'setup',
    byHandler: true,
    message: 'Too many attempts. Please try again later.',
  },
  oldPasswords: {
    ...failures,
    name: 'password-user',
    per: 'user',
    message: 'Too many wrong passwords. Please try again later.',
  },
  /** Wrong ones alone count, where the token is looked at. The same holds for the next one. */
  operatorTokens: { ...guesses, name: 'operator' },
  /** Wrong credentials of the hosted API. */
  wrongCredentials: { name: 'failed-sign-ins', per: 'network', max: 20 },
  approvalsOfAgent: {
    name: 'approvals-agent',
    per: 'agent',
    max: ({ approvalsPerMinute }) => approvalsPerMinute,
    message: tooManyApprovals,
  },
  /** Clients choose their agent ids freely: all agent ids of one key and client address share this bound. */
  approvalsOfKey: {
    name: 'approvals-key',
    per: 'key',
    max: ({ approvalsPerMinute }) => Math.max(600, approvalsPerMinute),
    message: tooManyApprovals,
  },
  toolObservations: { name: 'tool-observations', per: 'agent', max: 60 },
  decisions: { name: 'decisions', per: 'caller', max: 60 },
  eventPosts: {
    name: 'event-posts',
    per: 'sender',
    max: 600,
    byHandler: true,
    perNode: true,
    message: `Too many posts with fewer than ${fewEvents} events. Send events in batches.`,
  },
  events: {
    name: 'events',
    per: 'environment',
    max: ({ ingestEventsPerMinute }) => ingestEventsPerMinute,
    byHandler: true,
    message: 'Too many events. Please slow down.',
  },
  replays: {
    name: 'replays',
    per: 'tenant',
    max: 10,
    byHandler: true,
    message: 'Too many replays: the limit of a workspace is 10 a minute. Wait before you repeat.',
  },
  sampleRuns: { name: 'sample-runs', per: 'tenant', max: 10, byHandler: true },
  channelTests: { name: 'channel-tests', per: 'channel', max: 5, message: tooManyTests },
  consoleChannelTests: { name: 'channel-tests', per: 'channel', max: 20, message: tooManyTests },
  /** Counted where a callback has proved where it comes from: others must not use up its room. */
  callbacks: { name: 'callbacks', per: 'channel', max: 60, byHandler: true },
  consoleCallbacks: { name: 'callbacks', per: 'channel', max: 600, byHandler: true },
  /** Of callbacks from chats. A press whose signature fits is taken however many did not. */
  wrongSignatures: {
    name: 'wrong-signatures',
    per: 'network',
    max: 60,
    byHandler: true,
    message: "Too many callbacks have a wrong signature. Check the channel's signing secret or public key.",
  },
  /** A test costs money, as a question does. */
  aiTests: { name: 'ai-tests', per: 'tenant', max: 10, byHandler: true },
  aiQuestions: {
    name: 'ai-questions',
    per: 'caller',
    max: 20,
    message: 'Too many AI questions. Please slow down.',
  },
} as const satisfies { readonly [name: string]: Limit };

/**
 * The limit that a route has beside those of its own: `standard` of its caller's requests (default), `stream` of the
 * streams that its caller opens. `none` for probes; `own` where the route's own limits suffice; `operator` where the
 * credential is counted.
 */
export type LimitClass = 'none' | 'own' | 'operator' | 'standard' | 'stream';
