// Limits of routes: what may be called how often, counted for whom. Route declarations name them, app/rate-limit.ts
// counts them. Browser-safe.
import type { Env } from './ids.ts';

/** What a setting decides. */
export interface LimitSettings {
  /** Of an agent. */
  readonly approvalsPerMinute: number;
  /** Of a tenant's environment. */
  readonly ingestEventsPerMinute: number;
}

/**
 * Whom a limit is counted for. `sender`: an API key, a client address and an agent id together. A limit of an agent or
 * an environment never reaches into another environment.
 */
export type LimitedBy = 'caller' | 'tenant' | 'environment' | 'agent' | 'key' | 'sender' | 'channel';

export interface Limit {
  /** What is counted; routes whose limits have one name share the count. */
  readonly name: string;
  readonly per: LimitedBy;
  /** In a minute. */
  readonly max: number | ((settings: LimitSettings) => number);
  /** True: the handler says when it counts, and how much. Default: every valid request counts 1, before the handler. */
  readonly told?: true;
  /** True: every node counts by itself. */
  readonly perNode?: true;
  /** What the caller is told. */
  readonly message?: string;
}

/** Everything that a limit may be counted for, as far as it is known. */
export interface LimitSubject {
  /** The caller's name among all callers. */
  readonly caller: string | null;
  readonly tenantId: string | null;
  readonly env: Env | null;
  readonly agentId: string | null;
  readonly keyId: string | null;
  /** The client's address, as limits count it. */
  readonly network: string;
  readonly channelId: string | null;
}

/** What a handler knows better than the request. */
export interface Told extends Partial<LimitSubject> {
  /** Default 1. */
  readonly cost?: number;
}

/** Counts a limit that the route of the request declares. @throws HubError rate_limited */
export type CountLimit = (limit: Limit, told?: Told) => Promise<void>;

export const minuteMs = 60_000;

const partsOf: { readonly [P in LimitedBy]: readonly (keyof LimitSubject)[] } = {
  caller: ['caller'],
  tenant: ['tenantId'],
  environment: ['tenantId', 'env'],
  // What callers choose themselves stands last, so that no two names are alike.
  agent: ['tenantId', 'env', 'agentId'],
  key: ['keyId', 'network'],
  sender: ['keyId', 'network', 'agentId'],
  channel: ['tenantId', 'channelId'],
};

/** The name that is counted; null when the subject does not say for whom. */
export function limitName({ name, per }: Pick<Limit, 'name' | 'per'>, subject: LimitSubject): string | null {
  const parts = partsOf[per].map((part) => subject[part]);
  return parts.includes(null) ? null : `${name}:${parts.join('/')}`;
}

export const maxOf = ({ max }: Limit, settings: LimitSettings): number =>
  typeof max === 'number' ? max : max(settings);

/** Events that a post must hold to count as a batch: smaller ones cost as much as one of many. */
export const fewEvents = 10;

const tooManyApprovals = 'Too many approval requests. Please slow down.';
const tooManyTests = 'Too many tests of this notification channel. Please slow down.';

export const limits = {
  approvalsOfAgent: {
    name: 'approvals-agent',
    per: 'agent',
    max: ({ approvalsPerMinute }) => approvalsPerMinute,
    message: tooManyApprovals,
  },
  /** Agent ids are what a client says of itself: those of one key and client address are bounded together. */
  approvalsOfKey: {
    name: 'approvals-key',
    per: 'key',
    max: ({ approvalsPerMinute }) => Math.max(600, approvalsPerMinute),
    message: tooManyApprovals,
  },
  decisions: { name: 'decisions', per: 'caller', max: 60 },
  eventPosts: {
    name: 'event-posts',
    per: 'sender',
    max: 600,
    told: true,
    perNode: true,
    message: `Too many posts of fewer than ${fewEvents} events. Send events in batches.`,
  },
  events: {
    name: 'events',
    per: 'environment',
    max: ({ ingestEventsPerMinute }) => ingestEventsPerMinute,
    told: true,
    message: 'Too many events. Please slow down.',
  },
  replays: {
    name: 'replays',
    per: 'tenant',
    max: 10,
    told: true,
    message: 'Too many replays: a workspace may ask for 10 a minute.',
  },
  sampleRuns: { name: 'sample-runs', per: 'tenant', max: 10, told: true },
  channelTests: { name: 'channel-tests', per: 'channel', max: 5, message: tooManyTests },
  consoleChannelTests: { name: 'channel-tests', per: 'channel', max: 20, message: tooManyTests },
  /** Counted where a callback has proved where it comes from: others must not use up its room. */
  callbacks: { name: 'callbacks', per: 'channel', max: 60, told: true },
  consoleCallbacks: { name: 'callbacks', per: 'channel', max: 600, told: true },
  /** A test costs money, as a question does. */
  aiTests: { name: 'ai-tests', per: 'tenant', max: 10, told: true },
  aiQuestions: {
    name: 'ai-questions',
    per: 'caller',
    max: 20,
    message: 'Too many AI questions. Please slow down.',
  },
} as const satisfies { readonly [name: string]: Limit };
