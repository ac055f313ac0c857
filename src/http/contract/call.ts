// A call as handlers see it: who calls, the request beside its validated parts, and a reply with more than a body.

import type { OwnLimits } from '../../admission/limit.ts';
import type { EnvRole } from '../../shared/env-roles.ts';
import type { Env } from '../../shared/ids.ts';
import type { RequestOrigin } from '../../shared/principal.ts';
import type { RouteDeclaration } from './route.ts';

/** Fields of a request's API key. */
interface KeyFields {
  readonly keyId: string;
  readonly keyPrefix: string;
  readonly keyHash: string;
  readonly tenantId: string;
  readonly env: Env;
  /**
   * The agent-id header, validated (1–255 characters, no controls), else the only agent that the key is bound to; null
   * when neither is there.
   */
  readonly agentId: string | null;
  /** The agents that the key is bound to: an agent id, or a glob over agent ids; null: every agent. */
  readonly agentPattern: string | null;
  /** Time when the key expires; null: never. */
  readonly expiresAt: number | null;
  /** As `Request.network`. */
  readonly network: string;
}

/** A call of a service account. */
export interface ServiceUse {
  readonly tokenId: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Caller of a request, as the pipeline identified it. */
export type Caller =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'user';
      readonly userId: string;
      readonly tenantId: string;
      readonly email: string;
      readonly roles: readonly EnvRole[];
      /** Of the login's token, or of the service account's. */
      readonly tokenHash: string;
      /** Service account and its token; absent: a person. */
      readonly service?: ServiceUse;
      /** The request that it makes, where the route changes something. */
      readonly request?: RequestOrigin;
    }
  | ({ readonly kind: 'key' } & KeyFields)
  /** An API key on the hosted API: it may be bound to no environment. */
  | (Omit<KeyFields, 'env'> & { readonly kind: 'hostedKey'; readonly env: Env | null })
  /** A person whom an identity provider, or the hub itself, gave a token for the hosted API. */
  | {
      readonly kind: 'hostedOperator';
      readonly tenantId: string;
      readonly issuer: string;
      readonly subject: string;
      /** The name for records: the verified e-mail, else the name, else the subject. */
      readonly display: string;
      readonly roles: readonly EnvRole[];
      /** As of `user`; `loginHash` is the hash of its token. */
      readonly service?: ServiceUse;
      /** As of `user`. */
      readonly request?: RequestOrigin;
      /** Hash of the token of the login that the token was given to, with which it ends; null: it ends by itself. */
      readonly loginHash: string | null;
      /** The record of a token that an admin made, which may be revoked; null or absent: it is no such token. */
      readonly tokenId?: string | null;
      /** Epoch milliseconds. */
      readonly expiresAt: number;
    }
  | { readonly kind: 'operator' };

/** The caller that a route's `auth` admits. */
export type CallerOf<A extends RouteDeclaration['auth']> = A extends readonly []
  ? Caller
  : Extract<Caller, { kind: KindOf[A[number]] }>;

/** The kind of caller that each scheme yields. */
interface KindOf {
  readonly cookie: 'user';
  readonly key: 'key';
  readonly operatorToken: 'operator';
  readonly hostedKey: 'hostedKey';
  readonly operatorJwt: 'hostedOperator';
}

/** The request beside its validated parts. */
export interface Request {
  readonly id: string;
  /**
   * Where the request came from, as limits count it: the client's IPv4 address, or the /64 of its IPv6 address;
   * X-Forwarded-For counts behind a trusted proxy only. Empty when unknown.
   */
  readonly network: string;
  /** True when it was sent on this machine itself: from loopback to a name of loopback, and forwarded by nobody. */
  readonly local: boolean;
  /** True for what a page of another origin made a browser send, unless CORS_ORIGINS contains the origin. */
  readonly isFromForeignPage: boolean;
  /** A request header, lower-case name. */
  header(name: string): string | null;
  /** Limits that the route declares, for what its handler counts. */
  readonly limits: OwnLimits;
  /**
   * For an answer that waits: identifies the caller again. False if its roles are others now.
   * @throws HubError as a new request would; unavailable
   */
  recheckCaller(): Promise<boolean>;
  /** The id that what the request makes must get: that of the first of its Idempotency-Key; null without a key. */
  readonly newId: string | null;
}

/** A reply with more than a body. */
export class Reply<T> {
  readonly body: T;
  readonly headers: { readonly [name: string]: string };
  readonly cookies: readonly string[];
  readonly status: number | null;

  constructor(
    body: T,
    extra: { headers?: { [name: string]: string }; cookies?: readonly string[]; status?: number } = {},
  ) {
    this.body = body;
    this.headers = extra.headers ?? {};
    this.cookies = extra.cookies ?? [];
    this.status = extra.status ?? null;
  }
}

/** A body that was written as JSON where it was made, off the event loop: it is sent as it is. */
export class WrittenJson {
  /** JSON text in UTF-8, of what the route declares. */
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** Query parameters of another page. */
export type PageQuery = { readonly [name: string]: string | number };

/**
 * A page of a list, as a reply: a JSON array in which what is too large for a list is shortened (listed.ts), with a
 * Link header that names the next page.
 */
export class List<T> {
  readonly items: readonly T[];
  /**
   * The parameters of the next page; null when nothing is left. If this is a function, it returns those of the page
   * after the first `sent` items. With a function, the edge sends no more items than one answer may hold.
   */
  readonly next: PageQuery | null | ((sent: number) => PageQuery | null);
  /** The field of an object that holds the array; null: the answer is the array itself. */
  readonly field: string | null;
  readonly headers: { readonly [name: string]: string };
  readonly #shorten: (item: never) => unknown;

  constructor(
    items: readonly T[],
    next: List<T>['next'],
    more: {
      readonly field?: string;
      readonly headers?: { readonly [name: string]: string };
      /** Makes an item smaller that is too large for a list, before its fields give way to their size. */
      readonly shorten?: (item: T) => T;
    } = {},
  ) {
    this.items = items;
    this.next = next;
    this.field = more.field ?? null;
    this.headers = more.headers ?? {};
    this.#shorten = more.shorten ?? ((item) => item);
  }

  shorten(item: T): T {
    return this.#shorten(item as never) as T;
  }
}

/** A body that is made while it is sent, so that it may be larger than any other answer. */
export class Streamed {
  /**
   * Asked for the next one when the client has taken those before. An error cuts the connection, so that the client
   * notices.
   */
  readonly pieces: AsyncIterator<string | Uint8Array, unknown, undefined>;
  readonly headers: { readonly [name: string]: string };
  /** Sent whenever the next piece takes 15 s; null: nothing is. */
  readonly keepalive: string | null;
  /** Bytes that it holds in memory until it has ended. */
  readonly held: number;
  /** Called once, when nothing more is sent. */
  readonly ended: () => void;

  constructor(
    pieces: Streamed['pieces'],
    more: {
      readonly headers: { readonly [name: string]: string };
      readonly keepalive?: string;
      readonly held?: number;
      readonly ended?: () => void;
    },
  ) {
    this.pieces = pieces;
    this.headers = more.headers;
    this.keepalive = more.keepalive ?? null;
    this.held = more.held ?? 0;
    this.ended = more.ended ?? (() => {});
  }
}
