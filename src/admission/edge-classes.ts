// Classes of admission of the edge: requests, answers, streams and WebSockets. Part of admission/table.ts.

import type { AdmissionClass } from './admission-class.ts';

const kib = 1024;
const mib = 1024 * kib;

const tooManyStreams = {
  code: 'overloaded',
  message: 'Too many streams open at once. Try again shortly.',
  retryAfter: 1,
} as const;

/** Of the requests that the edge takes. */
export const requestClasses = {
  /** Before anything is done for them: as many as the tenant may open at once. */
  streamRequests: {
    title: 'Requests for streams',
    bounds: [{ per: 'credential', atOnce: 512, waiting: Number.POSITIVE_INFINITY }],
    ms: 30_000,
    refusal: tooManyStreams,
  },
  /** A fleet that returns sends thousands in one moment. More may wait than a process has descriptors for. */
  streamOpenings: {
    title: 'Streams that are being opened',
    bounds: [{ per: 'tenant', atOnce: 512, waiting: 100_000 }],
    ms: 30_000,
    refusal: tooManyStreams,
  },
  /**
   * A search may read much of what a tenant has stored. Agents choose their ids: the bound of the tenant limits what
   * they take from other tenants. Keeps promise P42.
   */
  searches: {
    title:
      'Searches and counts of events, lists of contracts and tags; under `/v1` also lists of runs, agents, approvals and audit',
    bounds: [
      { per: 'user', atOnce: 4, waiting: 16 },
      { per: 'agent', atOnce: 2, waiting: 4 },
      { per: 'tenant', atOnce: 16, waiting: 64 },
    ],
    ms: 2_000,
    refusal: {
      code: 'rate_limited',
      message: 'Too many searches run at once. Wait for one to end, then repeat.',
      retryAfter: 1,
    },
  },
  /** Each holds up to 4 MiB several times over while it is built. */
  reads: {
    title: 'Answers that are being built from stored data',
    bounds: [
      { per: 'tenant', atOnce: 16, waiting: 4_000 },
      { per: 'node', atOnce: 64, waiting: 4_000 },
    ],
    ms: 10_000,
    refusal: {
      code: 'overloaded',
      message: 'Too many reads run at once. Try again shortly.',
      retryAfter: 1,
    },
  },
  /** Each is read in many turns of the event loop. More may wait than fit into the memory for bodies. */
  largeBatches: {
    title: 'Batches of events; nothing of a refused batch is stored',
    bounds: [
      { per: 'tenant', atOnce: 4, waiting: 4_000 },
      { per: 'node', atOnce: 16, waiting: 4_000 },
    ],
    ms: 10_000,
    freeBytes: 256 * kib,
    refusal: {
      code: 'overloaded',
      message: 'The hub receives too many large batches. It stored nothing from this batch. Send it again.',
      retryAfter: 2,
    },
  },
  /** Answers that their clients have not read whole. Errors are smaller than the free bytes. */
  unreadAnswers: {
    title: 'Answers that clients have not read completely',
    bounds: [
      {
        per: 'caller',
        bytes: 32 * mib,
        refusal: {
          code: 'rate_limited',
          message: 'This caller has too many unread answers. Read them before you send more requests.',
          retryAfter: 5,
        },
      },
      { per: 'node', bytes: 256 * mib },
    ],
    freeBytes: 64 * kib,
    refusal: {
      code: 'overloaded',
      message: 'Too many answers wait for clients that do not read them. Try again shortly.',
      retryAfter: 5,
    },
  },
  receivedBytes: {
    title: 'Bodies and WebSocket messages, from their first byte until the request is answered',
    bounds: [
      { per: 'network', bytes: 128 * mib },
      { per: 'node', bytes: 256 * mib },
    ],
    refusal: {
      code: 'overloaded',
      message:
        'The hub receives too much data at once. It stored nothing from this request. Try again shortly.',
      retryAfter: 2,
    },
  },
  /** Of answers without a body: a client that only sends requests would make the server gather them. */
  emptyAnswers: {
    title: 'Answers without a body (204, HEAD), and those to malformed requests, in the time',
    bounds: [{ per: 'network', atOnce: 2_000 }],
    ms: 5_000,
  },
} as const satisfies { readonly [name: string]: AdmissionClass };

/** Of WebSockets and streams. */
export const socketClasses = {
  /** Half messages, as many bytes as they may reach. Sockets above the bound take smaller messages. */
  partialMessages: {
    title: 'Half WebSocket messages; further sockets take messages up to 64 KiB',
    bounds: [
      { per: 'key', bytes: 64 * mib },
      { per: 'node', bytes: 512 * mib },
    ],
  },
  /** Messages, and pings. Replicas may share an agent id and a network. */
  socketMessages: {
    title: 'WebSocket messages and pings; above, the socket ends with 1008',
    bounds: [
      { per: 'socket', atOnce: 2_000, perSecond: 200 },
      { per: 'caller', atOnce: 20_000, perSecond: 2_000 },
    ],
  },
  socketBytes: {
    title: 'Bytes of WebSocket messages; above, the socket ends with 1008',
    bounds: [
      { per: 'socket', bytes: 16 * mib, perSecond: 4 * mib },
      { per: 'caller', bytes: 64 * mib, perSecond: 16 * mib },
    ],
  },
  /** Messages that are refused for what they are, and pings while pongs wait to be read. */
  socketMistakes: {
    title:
      'Mistakes on WebSockets: results with 400, 403, 413, 415 or 422, and pings with unread pongs; above, the socket ends with 1008, and the caller gets no new one',
    bounds: [
      { per: 'socket', atOnce: 8, perSecond: 0.1 },
      { per: 'caller', atOnce: 64, perSecond: 1 },
    ],
    refusal: {
      code: 'rate_limited',
      message: 'This caller sent too many invalid messages. Wait before you send more.',
      retryAfter: 10,
    },
  },
  /** Messages of one socket that are handled at once, and those that wait. */
  socketQueue: {
    title: 'WebSocket messages under way, and those that wait; above, the socket ends with 1008',
    bounds: [{ per: 'socket', atOnce: 32, waiting: 1_000, bytes: 4 * mib }],
  },
  /** Streams that ended soon after they began. Retry-After is the rest of the time. */
  shortStreams: {
    title: 'Streams that began and ended within the time',
    bounds: [{ per: 'caller', atOnce: 10 }],
    ms: 10_000,
    refusal: {
      code: 'rate_limited',
      message: 'This agent repeatedly opens streams that end at once. Wait before you open another.',
    },
  },
  /** One frame alone always fits, and of a bundle's frames the newest. */
  unsentFrames: {
    title: 'Frames without a bundle that a stream has not sent; above, the stream ends',
    bounds: [{ per: 'stream', bytes: 256 * kib }],
  },
  missedEvents: {
    title: 'Reads of events that streams missed',
    bounds: [{ per: 'node', atOnce: 4, waiting: Number.POSITIVE_INFINITY }],
    refusal: { code: 'overloaded', message: 'Too many streams reconnect at once. Try again shortly.' },
  },
} as const satisfies { readonly [name: string]: AdmissionClass };
