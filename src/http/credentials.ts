// What a request may prove itself with, as its headers carry it. Checks no credential.
import type { Caller } from '../api/call.ts';
import { requireAgent } from '../app/acting-agent.ts';
import { onlyAgent } from '../domain/agent-scope.ts';
import { HubError } from '../domain/error.ts';
import { hasControl, isWellFormed } from '../domain/ids.ts';
import type { ApiKey } from '../domain/tenant.ts';

/** Names on the wire that the edge needs (a part of the handlers' VendorNames). */
export interface WireNames {
  /** Lower-case header names that may carry the agent id, the preferred one first. */
  readonly agentIdHeaders: readonly string[];
  readonly sessionCookie: string;
  readonly keyPrefix: string;
}

export type Headers = ReadonlyMap<string, string>;

export interface Identified {
  readonly caller: Caller;
  /** A Set-Cookie text, when a login was extended. */
  readonly cookie: string | null;
}

/** One way to prove who calls. */
export interface Scheme {
  /** Whether the request carries this credential, good or bad. */
  presented(headers: Headers): boolean;
  /** Whether it carries something in its place, which `identify` refuses with the reason. */
  attempted(headers: Headers): boolean;
  /** @throws HubError unauthenticated and others */
  identify(headers: Headers, network: string): Promise<Identified>;
  /** The same at once, where nothing has to be read; null elsewhere. @throws HubError as `identify` */
  remembered?(headers: Headers, network: string): Identified | null;
}

/** The longest API key or login token that is looked at. */
export const maxCredential = 512;

/** The token of a Bearer header, or null. */
export function bearer(header: string): string | null {
  const match = /^bearer +(\S+)$/i.exec(header.trim());
  return match?.[1] ?? null;
}

/** The agent id of the first agent-id header; null when there is none. @throws HubError bad_request */
function agentIdOf(headers: Headers, wire: Pick<WireNames, 'agentIdHeaders'>): string | null {
  for (const name of wire.agentIdHeaders) {
    const value = headers.get(name);
    if (!value) continue;
    if (value.length > 255 || hasControl(value) || !isWellFormed(value)) {
      throw new HubError('bad_request', `${name} must be 1 to 255 characters without control characters.`);
    }
    return value;
  }
  return null;
}

/**
 * What is known of a request with this API key, but the environment.
 * @throws HubError bad_request; forbidden when it names an agent that the key is not bound to
 */
export function keyFields(
  key: ApiKey,
  headers: Headers,
  wire: Pick<WireNames, 'agentIdHeaders'>,
  network: string,
) {
  const named = agentIdOf(headers, wire);
  if (named !== null) requireAgent(key, named);
  return {
    keyId: key.id,
    keyPrefix: key.prefix,
    keyHash: key.hash,
    tenantId: key.tenantId,
    agentId: named ?? onlyAgent(key),
    agentPattern: key.agentPattern,
    expiresAt: key.expiresAt,
    network,
  };
}
