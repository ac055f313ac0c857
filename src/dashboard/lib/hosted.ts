// Calls of the API under /v1, with a token for the signed-in person. The token lives 15 minutes and stays in memory.
import type { z } from 'zod';
import type { HostedApi } from '../../hub/api/hosted-routes.ts';
import { ApiError, actionAnswer, answerOf, call, filledPath, type Page, type Reply } from './api.ts';
import { now } from './browser.ts';
import { isAction } from './unanswered.ts';

type HostedRoute<D extends HostedApi[keyof HostedApi]> = Pick<D, 'method' | 'path'> &
  Partial<Pick<D, 'role'>>;

/** The routes that pages use. The compiler compares each with its declaration in src/<noun>/hosted. */
export const hostedRoutes = {
  hostedListRuns: { method: 'GET', path: '/v1/runs' },
  hostedRunBundle: { method: 'GET', path: '/v1/runs/{agent_id}/{session_id}/bundle' },
  hostedWorkflowState: { method: 'GET', path: '/v1/agents/{agent_id}/workflow-state' },
  hostedSearchEvents: { method: 'GET', path: '/v1/events' },
  hostedSampleRun: { method: 'POST', path: '/v1/sample-run', role: 'operator' },
  hostedListRulesets: { method: 'GET', path: '/v1/rulesets' },
  hostedGetRuleset: { method: 'GET', path: '/v1/rulesets/{name}' },
  hostedPutRuleset: { method: 'PUT', path: '/v1/rulesets/{name}', role: 'operator' },
  hostedRulesetVersions: { method: 'GET', path: '/v1/rulesets/{name}/versions' },
  hostedRulesetVersion: { method: 'GET', path: '/v1/rulesets/{name}/versions/{version}' },
  hostedReplayVersions: { method: 'GET', path: '/v1/rulesets/{name}/replay', role: 'operator' },
  hostedListAudit: { method: 'GET', path: '/v1/audit' },
  hostedExportAudit: { method: 'GET', path: '/v1/audit/export' },
} as const satisfies { readonly [N in keyof HostedApi]?: HostedRoute<HostedApi[N]> };

export type HostedOperation = keyof typeof hostedRoutes;
export type HostedReply<N extends HostedOperation> = HostedApi[N] extends { readonly reply: infer S }
  ? S extends z.ZodType
    ? z.output<S>
    : never
  : string;

type Text = string | number | boolean | undefined;
export interface HostedInput {
  readonly params?: { readonly [name: string]: string | number };
  /** A list becomes one parameter for each item. */
  readonly query?: { readonly [name: string]: Text | readonly string[] };
  /** A document, sent unchanged. */
  readonly yaml?: string;
  /** Tag of the state that a write replaces. For another state the hub answers 412 and changes nothing. */
  readonly ifMatch?: string;
}

let token: Reply<'exchangeLogin'> | null = null;
let asking: Promise<Reply<'exchangeLogin'>> | null = null;
/** A token is replaced this long before it expires, in milliseconds. */
const spareMs = 30_000;

/** @throws ApiError */
async function bearer(): Promise<string> {
  if (token && Date.parse(token.expires_at) - spareMs > now()) return token.token;
  asking ??= call('exchangeLogin').finally(() => {
    asking = null;
  });
  token = await asking;
  return token.token;
}

/** @throws ApiError */
export const callHosted = async <N extends HostedOperation>(
  operation: N,
  input: HostedInput = {},
  signal?: AbortSignal,
): Promise<HostedReply<N>> => (await callHostedPage(operation, input, signal)).reply;

/** Also returns the cursor of the next page. @throws ApiError */
export async function callHostedPage<N extends HostedOperation>(
  operation: N,
  input: HostedInput = {},
  signal?: AbortSignal,
): Promise<Page<HostedReply<N>>> {
  const { method, path } = hostedRoutes[operation];
  const ask = async (): Promise<Page<HostedReply<N>>> => {
    const address = filledPath(path, input);
    const init: RequestInit = {
      method,
      headers: {
        Authorization: `Bearer ${await bearer()}`,
        ...(input.yaml === undefined ? {} : { 'Content-Type': 'application/x-yaml' }),
        ...(input.ifMatch === undefined ? {} : { 'If-Match': `"${input.ifMatch}"` }),
      },
      ...(input.yaml === undefined ? {} : { body: input.yaml }),
      // The token identifies the person, so no cookie is sent.
      credentials: 'omit',
    };
    return isAction(operation, method)
      ? actionAnswer(operation, address, init)
      : answerOf(address, init, signal);
  };
  try {
    return await ask();
  } catch (failure) {
    if (!(failure instanceof ApiError) || failure.status !== 401) throw failure;
    // The token is invalid early, for example after a logout. The next exchange returns the reason.
    token = null;
    return await ask();
  }
}
