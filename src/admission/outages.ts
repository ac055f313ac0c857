// Refusals without a bound: a service is away, a state moves between nodes, the hub closes, or others change the same
// record. Each passes by itself. Part of the one table of refusals; docs/limits.md is made from it.

import type { HubError } from '../shared/error.ts';
import { toHubError } from './admission.ts';
import type { Refusal } from './admission-class.ts';

export interface Outage {
  /** Name for the documentation. */
  readonly title: string;
  /** Attempts that the hub makes itself before it refuses. Default: one. */
  readonly tries?: number;
  readonly refusal: Refusal;
}

const closingMessage = 'The hub is shutting down.';

export const outageTable = {
  embeddedStoreAway: {
    title: 'The embedded store cannot be read or written',
    refusal: {
      code: 'unavailable',
      message: 'The hub cannot reach its store. Try again shortly.',
      retryAfter: 1,
    },
  },
  embeddedStoreFull: {
    title: 'The disk of the embedded store is full',
    refusal: {
      code: 'disk_full',
      message:
        "The disk of the hub's store is full, so nothing was stored. Try again later: an administrator frees space or purges old events.",
      retryAfter: 10,
    },
  },
  embeddedStoreDamaged: {
    title: 'The file of the embedded store is damaged, or belongs to another program',
    refusal: {
      code: 'unavailable',
      message: "The hub's database is damaged. See the hub's log.",
      retryAfter: 60,
    },
  },
  embeddedStoreClosed: {
    title: 'The embedded store is closed',
    refusal: { code: 'unavailable', message: 'The store is closed.' },
  },
  mongoAway: {
    title: 'MongoDB cannot be reached',
    refusal: {
      code: 'unavailable',
      message: 'The hub cannot reach its store. Try again in a moment.',
      retryAfter: 2,
    },
  },
  mongoFull: {
    title: 'The disk of MongoDB is full',
    refusal: {
      code: 'disk_full',
      message: "The disk of the hub's store is full. Try again later: MongoDB needs more disk space.",
      retryAfter: 10,
      // A change can be several writes.
      mayBeStored: true,
    },
  },
  mongoClosed: {
    title: 'The connections to MongoDB are closed',
    refusal: { code: 'shutting_down', message: 'The store is closed.', retryAfter: 2 },
  },
  /** A fence in MongoDB refused the write of an owner that was replaced without noticing. */
  ownerReplaced: {
    title: 'Another node owns the written state',
    refusal: {
      code: 'unavailable',
      message: 'Another node has taken over. Try again in a moment.',
      retryAfter: 2,
    },
  },
  busAway: {
    title: 'Redis cannot be reached',
    refusal: {
      code: 'unavailable',
      message: 'The hub cannot reach the message bus. Try again in a moment.',
      retryAfter: 2,
    },
  },
  busClosed: {
    title: 'A node without Redis ends, and sends no more frames',
    refusal: { code: 'unavailable', message: 'The hub is closing.', retryAfter: 1 },
  },
  jobQueueAway: {
    title: 'Redis cannot be reached for a job',
    refusal: {
      code: 'unavailable',
      message: 'The hub cannot reach the job queue. Try again in a moment.',
      retryAfter: 2,
    },
  },
  jobQueueClosed: {
    title: 'The queue of jobs is closed',
    refusal: { code: 'shutting_down', message: closingMessage },
  },
  signInProviderAway: {
    title: 'The identity provider does not answer a sign-in',
    refusal: {
      code: 'unavailable',
      message: 'The identity provider does not answer. Try again in a moment.',
      retryAfter: 5,
    },
  },
  providerKeysAway: {
    title: 'The keys of the identity provider cannot be fetched',
    refusal: {
      code: 'unavailable',
      message: "The hub cannot fetch the identity provider's keys. Try again in a moment.",
      retryAfter: 5,
    },
  },
  workerNotStarted: {
    title: 'A worker thread does not start in time',
    refusal: { code: 'unavailable', message: 'A worker could not be started in time.' },
  },
  workersClosed: {
    title: 'The worker threads are closed',
    refusal: { code: 'shutting_down', message: 'The server is shutting down.' },
  },
  stateMoved: {
    title: 'The state belongs to another node now',
    refusal: {
      code: 'unavailable',
      message: 'The state moved to another node. Try again shortly.',
      retryAfter: 1,
    },
  },
  stateTakenOver: {
    title: 'Another node took the state over during the change',
    refusal: {
      code: 'unavailable',
      message: 'Another node has taken over. Try again shortly.',
      retryAfter: 1,
    },
  },
  stateNotLoaded: {
    title: 'The state cannot be loaded from the store',
    refusal: {
      code: 'unavailable',
      message: 'The hub cannot load this state now. Try again shortly.',
      retryAfter: 1,
    },
  },
  effectsNotSent: {
    title: 'A stored change cannot be announced',
    refusal: {
      code: 'unavailable',
      message: 'The change is stored but not announced. Repeat the request shortly.',
      retryAfter: 1,
    },
  },
  ownerUnreachable: {
    title: 'The node that owns the state cannot be reached',
    refusal: {
      code: 'unavailable',
      message: 'The hub cannot reach the node that owns this state. Try again shortly.',
      retryAfter: 1,
    },
  },
  ownerSilent: {
    title: 'The node that owns the state does not answer in time',
    refusal: {
      code: 'unavailable',
      message: 'The hub got no answer from the owner of this state in time. Try again shortly.',
      retryAfter: 1,
    },
  },
  actorsClosed: {
    title: 'The node ends, and takes no more changes',
    refusal: { code: 'shutting_down', message: closingMessage, retryAfter: 1 },
  },
  streamsClosed: {
    title: 'The node ends, and opens no more streams',
    refusal: {
      code: 'shutting_down',
      message: 'This node is shutting down. Connect again.',
      retryAfter: 1,
    },
  },
  signingKeyChanging: {
    title: 'The signing key or the deployments change during a deployment',
    tries: 5,
    refusal: {
      code: 'unavailable',
      message: 'The signing key is being rotated. Try again shortly.',
      retryAfter: 1,
    },
  },
  rulesetChanging: {
    title: 'Other requests change the same ruleset',
    tries: 10,
    refusal: {
      code: 'unavailable',
      message: 'Too many requests are changing this ruleset. Try again shortly.',
      retryAfter: 1,
    },
  },
  idempotentRequestRunning: {
    title: 'The first request with the same Idempotency-Key runs',
    refusal: {
      code: 'conflict',
      reason: 'idempotency_in_progress',
      message: 'The first request with this Idempotency-Key is still running. Repeat it in a moment.',
      retryAfter: 1,
    },
  },
} as const satisfies { readonly [name: string]: Outage };

export type OutageName = keyof typeof outageTable;

/** A new error of the outage. */
export const outageOf = (name: OutageName): HubError => toHubError(outageTable[name].refusal);
