// Classes of admission of use cases, actors and stores. Part of admission/table.ts.

import type { AdmissionClass } from './admission-class.ts';

const mib = 1024 * 1024;

const tooManyReplays = { code: 'rate_limited', reason: 'replay_busy', retryAfter: 2 } as const;
const tooManyMessages = {
  code: 'overloaded',
  message: 'Too many messages are waiting. Try again shortly.',
  retryAfter: 1,
} as const;
const storeOverloaded = {
  code: 'overloaded',
  message: 'The store is overloaded. Try again shortly.',
  retryAfter: 1,
} as const;
const tooManyPasswords = {
  code: 'overloaded',
  message: 'The hub is checking too many passwords. Try again shortly.',
  retryAfter: 1,
} as const;
/** Bytes of all writes that wait for the embedded store. */
const storeBytes = 64 * mib;

/** Of single use cases. */
export const workClasses = {
  /** One after another: of many at once, one hashes its password. */
  setUps: {
    title: 'Set-ups',
    bounds: [{ per: 'node', atOnce: 1, waiting: 1_000 }],
    refusal: {
      code: 'overloaded',
      message: 'Too many setup requests run at once. Try again shortly.',
      retryAfter: 1,
    },
  },
  /** libuv has four threads, and the store's files need one. */
  passwordsOfStrangers: {
    title: 'Passwords of people whom the hub does not recognise',
    bounds: [{ per: 'node', atOnce: 2, waiting: 64 }],
    refusal: tooManyPasswords,
  },
  passwordsOfKnownPeople: {
    title: 'Passwords of people whom the hub recognises, and new ones',
    bounds: [{ per: 'node', atOnce: 1, waiting: 64 }],
    refusal: tooManyPasswords,
  },
  explanations: {
    title: 'Explanations of calls',
    bounds: [{ per: 'person', atOnce: 1, waiting: 8 }],
    refusal: {
      code: 'too_busy',
      message: 'Too many explanations are waiting. Wait for one to end, then repeat.',
    },
  },
  replays: {
    title: 'Replays',
    bounds: [
      { per: 'tenant', atOnce: 2 },
      { per: 'node', atOnce: 4 },
    ],
    refusal: {
      ...tooManyReplays,
      message: 'Too many replays are running. Wait for one to end, then repeat.',
    },
  },
  /** In worker threads, for which tenants take turns. */
  replayParts: {
    title: 'Parts of replays, in worker threads',
    bounds: [
      { per: 'tenant', atOnce: 2, waiting: 4 },
      { per: 'node', atOnce: 4, waiting: 16 },
    ],
    ms: 10_000,
    refusal: { ...tooManyReplays, message: 'Too many replays are running. Try again shortly.' },
  },
  dryRuns: {
    title: 'Dry runs, in worker threads',
    bounds: [
      { per: 'tenant', atOnce: 4, waiting: 16 },
      { per: 'node', atOnce: 6, waiting: 128 },
    ],
    ms: 1_000,
    refusal: { code: 'too_busy', message: 'Too many concurrent evaluations. Try again shortly.' },
  },
  bundleReadings: {
    title: 'Reading of large YAML, in worker threads',
    bounds: [
      { per: 'tenant', atOnce: 1, waiting: 32 },
      { per: 'node', atOnce: 2, waiting: 128 },
    ],
    ms: 10_000,
    refusal: {
      code: 'overloaded',
      message: 'The hub is reading too many bundles. Try again shortly.',
      retryAfter: 2,
    },
  },
  decisionBundles: {
    title: 'Decision bundles that are being built',
    bounds: [
      { per: 'tenant', atOnce: 1, waiting: 4 },
      { per: 'node', atOnce: 2, waiting: 16 },
    ],
    ms: 2_000,
    refusal: {
      code: 'rate_limited',
      message: 'Other decision bundles are being built. Try again in a moment.',
      retryAfter: 2,
    },
  },
  /** Each reads on as long as its client does. */
  eventExports: {
    title: 'Exports of events as a download',
    bounds: [{ per: 'tenant', atOnce: 2 }],
    refusal: {
      code: 'rate_limited',
      message: 'Two exports are already running. Wait for one to end, then repeat.',
      retryAfter: 5,
    },
  },
  exports: {
    title: 'Exports by cursor',
    bounds: [{ per: 'tenant', atOnce: 10 }],
    refusal: {
      code: 'rate_limited',
      message: '10 exports are already running. Wait for one to end.',
      retryAfter: 5,
    },
  },
  textSearches: {
    title: 'Searches that read payloads; a newer one of the same person ends the older one',
    bounds: [{ per: 'tenant', atOnce: 2 }],
    refusal: {
      code: 'too_busy',
      message: 'Two searches of texts are already running. Wait for one to end, then repeat.',
    },
  },
  aiAnswers: {
    title: 'Answers of the AI assistant',
    bounds: [{ per: 'tenant', atOnce: 8 }],
    refusal: {
      code: 'rate_limited',
      message: 'Too many AI answers run at once. Wait for one to end.',
      retryAfter: 5,
    },
  },
  /** They wait for receivers, not for this process. */
  notificationAttempts: {
    title: 'Attempts to send notifications; further ones wait in the queue of jobs',
    bounds: [{ per: 'node', atOnce: 1_024, waiting: Number.POSITIVE_INFINITY }],
  },
  notificationFanOuts: {
    title:
      'Approvals, and reports of tools, whose notifications are being written; further ones wait in the queue',
    bounds: [{ per: 'node', atOnce: 4, waiting: Number.POSITIVE_INFINITY }],
  },
  channelAttempts: {
    title: 'Attempts of one notification channel; further ones are put off',
    bounds: [{ per: 'channel', atOnce: 4, waiting: 250 }],
  },
  /** So that many slow channels leave room for others. */
  slowChannelAttempts: {
    title: 'The same, of a channel whose last attempt took over 2 s',
    bounds: [{ per: 'channel', atOnce: 4, waiting: 4 }],
  },
} as const satisfies { readonly [name: string]: AdmissionClass };

/** Of actors and stores. */
export const queueClasses = {
  /** Timers come on top. */
  mailboxes: {
    title: 'Messages in the mailbox of an actor',
    bounds: [{ per: 'actor', waiting: 1_000 }],
    refusal: tooManyMessages,
  },
  streamEnds: {
    title: 'Ended streams of agents that wait for the store; above, the oldest is dropped',
    bounds: [{ per: 'environment', waiting: 50_000 }],
  },
  seenTimes: {
    title: 'Times when agents were last seen that wait for MongoDB; above, the request waits for its write',
    bounds: [{ per: 'node', waiting: 50_000 }],
  },
  spans: {
    title: 'Spans that wait for their collector; above, new ones are lost and counted',
    bounds: [{ per: 'node', waiting: 2_048 }],
  },
  busEnvelopes: {
    title: 'Messages between nodes, in Redis',
    bounds: [{ per: 'shard', waiting: 50_000 }],
    refusal: tooManyMessages,
  },
  storeWrites: {
    title: 'Writes to the embedded store, and as many reads',
    bounds: [{ per: 'node', waiting: 4_096, bytes: storeBytes }],
    refusal: storeOverloaded,
  },
  tenantEvents: {
    title: 'Bytes of events that wait for the embedded store',
    bounds: [{ per: 'tenant', bytes: storeBytes / 2 }],
    refusal: {
      code: 'overloaded',
      message: 'Too many events from this tenant wait to be stored. Try again shortly.',
      retryAfter: 1,
    },
  },
  /** One for each connection that a process can have open. */
  gatheredCalls: {
    title: 'Registrations and reports of agents that go to the embedded store together',
    bounds: [{ per: 'method', waiting: 100_000 }],
    refusal: storeOverloaded,
  },
  mongoEventWrites: {
    title: 'Writes of events to MongoDB',
    bounds: [{ per: 'node', atOnce: 16, waiting: 256 }],
    ms: 5_000,
    refusal: {
      code: 'overloaded',
      message: 'The hub is writing too many events. Try again in a moment.',
      retryAfter: 1,
    },
  },
  /** One at a time: two changes in one process would make each other's compare-and-set fail. */
  mongoDocumentChanges: {
    title: 'Changes of one document in MongoDB, such as the library of a tenant',
    bounds: [{ per: 'document', atOnce: 1, waiting: Number.POSITIVE_INFINITY }],
    ms: 5_000,
    refusal: {
      code: 'unavailable',
      message: 'Too many changes of one record wait for the store. Try again in a moment.',
      retryAfter: 2,
    },
  },
  mongoCommands: {
    title: 'Commands to MongoDB, each on a connection of its own',
    bounds: [{ per: 'node', atOnce: 64, waiting: Number.POSITIVE_INFINITY }],
    ms: 4_000,
    refusal: {
      code: 'unavailable',
      message: 'All connections to the store are in use. Try again in a moment.',
      retryAfter: 2,
    },
  },
} as const satisfies { readonly [name: string]: AdmissionClass };
