// Reads credentials from the headers of a request. Checks none.

import { maxName, shortName } from '../event/rules/repair.ts';
import type { ApiKey } from '../key/record.ts';
import { requireAgent } from '../shared/acting-agent.ts';
import { onlyAgent } from '../shared/agent-scope.ts';
import { HubError } from '../shared/error.ts';
import { type Env, hasControl, isWellFormed } from '../shared/ids.ts';
import type { Caller } from './contract/call.ts';

/** Names on the wire that the edge needs (a part of the handlers' VendorNames). */
export interface WireNames {
  /** Lower-case header names that may carry the agent id, the preferred one first. */
  readonly agentIdHeaders: readonly string[];
  readonly sessionCookie: string;
  readonly keyPrefix: string;
  readonly tokenPrefix: string;
}

export type Headers = ReadonlyMap<string, string>;

export interface Identified {
  readonly caller: Caller;
  /** A Set-Cookie text, when a login was extended. */
  readonly cookie: string | null;
}

/**
 * The SHA-256 for the short form of an agent-id header over 255 characters (event/rules/repair.ts). Null: a header that
 * cannot be an agent's id is refused.
 */
export type AgentIdRepair = ((text: string) => string) | null;

/** One way to prove who calls. */
export interface Scheme {
  /** True if the request contains this credential, valid or not. */
  presented(headers: Headers): boolean;
  /** True if the request contains something in its place, which `identify` refuses with the reason. */
  attempted(headers: Headers): boolean;
  /** @throws HubError unauthenticated and others */
  identify(headers: Headers, network: string, repair: AgentIdRepair): Promise<Identified>;
  /** The same at once, where nothing has to be read; null elsewhere. @throws HubError as `identify` */
  remembered?(headers: Headers, network: string, repair: AgentIdRepair): Identified | null;
}

/** The part of a request that makes the caller of a key. */
export interface KeyRequest {
  readonly headers: Headers;
  readonly wire: Pick<WireNames, 'agentIdHeaders'>;
  readonly network: string;
  readonly repair: AgentIdRepair;
}

/** The longest API key or login token that is looked at. */
export const maxCredential = 512;

/** The token of a Bearer header, or null. */
export function bearer(header: string): string | null {
  const match = /^bearer +(\S+)$/i.exec(header.trim());
  return match?.[1] ?? null;
}

/** The agent id of the first agent-id header; null when there is none. @throws HubError bad_request */
function agentIdOf({ headers, wire, repair }: KeyRequest): string | null {
  for (const name of wire.agentIdHeaders) {
    const value = headers.get(name);
    if (!value) continue;
    if (value.length <= maxName && !hasControl(value) && isWellFormed(value)) return value;
    if (repair !== null) return value.length <= maxName ? value : shortName(value, repair);
    throw new HubError('bad_request', `${name} must be 1 to 255 characters without control characters.`);
  }
  return null;
}

/**
 * The caller of a request with this API key. One literal, because each stream keeps its caller: spread fields would lie
 * in a second object.
 * @throws HubError bad_request; forbidden if the key is not bound to the agent in the request
 */
export function keyCaller<Kind extends 'key' | 'hostedKey', KeyEnv extends Env | null>(
  kind: Kind,
  env: KeyEnv,
  key: ApiKey,
  request: KeyRequest,
) {
  const agentId = agentIdOf(request);
  if (agentId !== null) requireAgent(key, agentId);
  return {
    kind,
    keyId: key.id,
    keyPrefix: key.prefix,
    keyHash: key.hash,
    tenantId: key.tenantId,
    env,
    agentId: agentId ?? onlyAgent(key),
    agentPattern: key.agentPattern,
    expiresAt: key.expiresAt,
    network: request.network,
  };
}
