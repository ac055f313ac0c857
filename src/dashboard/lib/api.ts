// Calls of the console API, with types generated from the hub's declarations. The browser keeps the session's cookie.
import {
  type ConsoleOperations,
  consoleRoutes,
} from '../../../packages/agent/src/console/generated/operations.ts';
import { now } from './browser.ts';
import { learnServerTime } from './server-time.ts';
import { awaitAnswer, isAction } from './unanswered.ts';

export { consoleRoutes };

type Replies = {
  [N in keyof ConsoleOperations]: ConsoleOperations[N] extends { reply: infer R } ? R : never;
};
/** Names of the routes with a single answer: no streams. */
export type Operation = {
  [N in keyof Replies]: [Replies[N]] extends [never] ? never : N;
}[keyof Replies];
export type Reply<N extends Operation> = Replies[N];
export type Input<N extends Operation> = ConsoleOperations[N] extends { input: infer I }
  ? I & Condition
  : never;

interface Condition {
  /** Tag of the state that a write replaces. For another state the hub answers 412 and changes nothing. */
  readonly ifMatch?: string | undefined;
}

/** Of one answer, shown. */
const maxErrors = 10;

/** A failed call. `message` is a sentence for people. */
export class ApiError extends Error {
  /** 0 if the hub did not answer; 404 also for an id that no record can have. */
  readonly status: number;
  /** One of the hub's error codes, `unreachable`, or `unanswered` for an action with an unknown outcome. */
  readonly code: string;
  /** Messages about refused fields, by name. */
  readonly fields: { readonly [name: string]: string };
  /** Seconds from `Retry-After`; null without it. */
  readonly retryAfter: number | null;
  /** The same as a time of this machine, in epoch milliseconds. */
  readonly retryAt: number | null;
  /** The request's id in the hub's log; null without an answer of the hub. */
  readonly requestId: string | null;

  /** @param errors refused fields, if the answer contains them beside its message */
  constructor(
    status: number,
    code: string,
    detail: unknown,
    retryAfter: number | null,
    errors: unknown = [],
    requestId: string | null = null,
  ) {
    const list = Array.isArray(detail) ? detail : Array.isArray(errors) ? errors.slice(0, maxErrors) : [];
    const problems = list as { loc: (string | number)[]; msg: string }[];
    const messagesByField = problems.map(({ loc, msg }) => [loc.slice(1).join('.'), msg] as const);
    const hasNoRecord = problems.length > 0 && problems.every(({ loc }) => loc[0] === 'path');
    super(
      hasNoRecord
        ? 'Not found. The ID in the address has another form than IDs in this hub.'
        : typeof detail === 'string' && detail !== ''
          ? [
              detail,
              ...messagesByField
                .filter(([, msg]) => !detail.includes(msg))
                .map(([name, msg]) => `${name}: ${msg}`),
            ].join(' ')
          : messagesByField.map(([name, msg]) => (name === '' ? msg : `${name}: ${msg}`)).join('; ') ||
            `The hub returned the status ${status}. Try again, or ask the hub operators.`,
    );
    this.name = 'ApiError';
    this.status = hasNoRecord ? 404 : status;
    this.code = code;
    this.fields = Object.fromEntries(messagesByField);
    this.retryAfter = retryAfter;
    this.requestId = requestId;
    this.retryAt = retryAfter === null ? null : now() + retryAfter * 1000;
  }
}

export interface Page<R> {
  readonly reply: R;
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
  /** Offset of the next page, of a list without a cursor. */
  readonly nextOffset?: string | null;
  /** Of a search that its time limit ended: the time down to which the hub has searched. */
  readonly searchedTo?: string;
  /** False if the time ran out before the hub looked at everything. */
  readonly isComplete: boolean;
}

interface AnyInput extends Condition {
  readonly params?: { readonly [name: string]: unknown };
  readonly query?: { readonly [name: string]: unknown };
  readonly body?: unknown;
}

let onSignedOut: () => void = () => undefined;
/** Sets the handler for an ended session. */
export function whenSignedOut(task: () => void): void {
  onSignedOut = task;
}

/** Path and query of a request to a route of the console API. */
export const addressOf = (operation: string, input?: AnyInput): string =>
  filledPath((consoleRoutes as { readonly [name: string]: { path: string } })[operation]?.path ?? '', input);

/** The path of a route with its parameters, and the query. */
export function filledPath(path: string, { params = {}, query = {} }: AnyInput = {}): string {
  const filled = path.replaceAll(/\{([a-z_]+)(\+?)\}/g, (_, name: string, tail: string) => {
    const encoded = encodeURIComponent(String(params[name] ?? ''));
    return tail === '' ? encoded : encoded.replaceAll('%2F', '/');
  });
  // A parameter with several values is repeated.
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined && one !== null && one !== '')
      .map((one): [string, string] => [name, String(one)]),
  );
  const search = new URLSearchParams(pairs).toString();
  return search === '' ? filled : `${filled}?${search}`;
}

const took = new Map<string, number>();
/** Duration of the operation's latest answer, in milliseconds; 0 before the first. */
export const lastTook = (operation: string): number => took.get(operation) ?? 0;

/** @throws ApiError */
export async function callPage<N extends Operation>(
  operation: N,
  input?: Input<N>,
  signal?: AbortSignal,
): Promise<Page<Reply<N>>> {
  const { body, ifMatch } = (input ?? {}) as AnyInput;
  const { method } = consoleRoutes[operation];
  const init = {
    method,
    headers: {
      'X-Requested-With': 'reeve-console',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'If-Match': `"${ifMatch}"` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const startedAt = now();
  try {
    const address = addressOf(operation, input as AnyInput);
    const page = isAction(operation, method)
      ? await actionAnswer<Reply<N>>(operation, address, init)
      : await answerOf<Reply<N>>(address, init, signal);
    took.set(operation, now() - startedAt);
    return page;
  } catch (failure) {
    if (
      failure instanceof ApiError &&
      failure.status === 401 &&
      operation !== 'login' &&
      operation !== 'me'
    ) {
      onSignedOut();
    }
    throw failure;
  }
}

/** Start of the next part or page, from the answer's `Link` header; null after the last one. */
const fromLink = (response: Response, field: 'from_seq' | 'offset'): string | null =>
  new RegExp(`[?&]${field}=(\\d+)`).exec(response.headers.get('link') ?? '')?.[1] ?? null;

/** Returns the hub's answer: JSON as a value, anything else as text. @throws ApiError */
export async function answerOf<R>(
  address: string,
  init: RequestInit,
  signal?: AbortSignal,
): Promise<Page<R>> {
  const startedAt = now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(address, { ...init, ...(signal ? { signal } : {}) });
    learnServerTime(response.headers.get('x-server-time'), startedAt);
    text = await response.text();
  } catch (failure) {
    if (signal?.aborted) throw failure;
    throw unreachable();
  }
  if (response.ok) {
    const json = /\/(?:[\w.]+\+)?json\b/.test(response.headers.get('content-type') ?? '');
    const reply = text === '' ? null : json ? JSON.parse(text) : text;
    const next =
      response.headers.get('x-next-cursor') ??
      fromLink(response, 'from_seq') ??
      (reply as { readonly next_cursor?: string | null } | null)?.next_cursor ??
      null;
    const searchedTo = response.headers.get('x-searched-to');
    const isComplete = response.headers.get('x-search-complete') !== 'false';
    const page = { reply, next, nextOffset: fromLink(response, 'offset'), isComplete };
    return isComplete || searchedTo === null ? page : { ...page, searchedTo };
  }
  throw errorOf(response, text);
}

/** Returns the answer to a change. Without an answer the outcome is unknown. @throws ApiError */
export const actionAnswer = <R>(operation: string, address: string, init: RequestInit): Promise<Page<R>> =>
  awaitAnswer(operation, async (limit) => {
    try {
      return await answerOf<R>(address, init, limit);
    } catch (failure) {
      if (failure instanceof ApiError && failure.status > 0) throw failure;
      throw unanswered();
    }
  });

/** Reports an ended session from a request outside of `call`, so that the sign-in form opens over the page. */
export const sessionEnded = (): void => onSignedOut();

export const unreachable = (): ApiError =>
  new ApiError(0, 'unreachable', 'The hub did not respond. Check that it is running, then try again.', null);

const unanswered = (): ApiError =>
  new ApiError(
    0,
    'unanswered',
    'The hub did not respond, so your action may have taken effect. Check the result before you try again.',
    null,
  );

/** Reads an error answer in either of the hub's forms. */
export function errorOf(response: Response, text: string): ApiError {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  let problem: { readonly detail?: unknown; readonly code?: unknown; readonly errors?: unknown } = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // A proxy's answer: only its status is useful.
  }
  const code = typeof problem.code === 'string' ? problem.code : 'unknown';
  return new ApiError(
    response.status,
    code,
    problem.detail,
    Number.isFinite(seconds) ? seconds : null,
    problem.errors,
    response.headers.get('x-request-id'),
  );
}

/** @throws ApiError */
export async function call<N extends Operation>(
  operation: N,
  input?: Input<N>,
  signal?: AbortSignal,
): Promise<Reply<N>> {
  return (await callPage(operation, input, signal)).reply;
}
