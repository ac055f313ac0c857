// Callers of the hosted API: API keys of one environment or of all, and operators' tokens. A bearer token with a key's
// prefix is a key, any other one is read as a JWT. Wrong credentials are counted by address, and never delay valid
// ones.

import { type ApiKey, isExpired } from '../key/record.ts';
import { HubError, refused } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { OperatorTokens } from '../user/port/operator-tokens.ts';
import type { Caller } from './contract/call.ts';
import type { AuthScheme } from './contract/route.ts';
import {
  type AgentIdRepair,
  bearer,
  type Headers,
  keyCaller,
  maxCredential,
  type Scheme,
  type WireNames,
} from './credentials.ts';
import type { KeyRing } from './key-ring.ts';
import type { ServiceTokens } from './service-tokens.ts';

export interface HostedCallersOptions {
  readonly ring: Pick<KeyRing, 'find' | 'remembered' | 'wasRevoked'>;
  readonly services: ServiceTokens;
  readonly operatorTokens: OperatorTokens;
  readonly clock: Clock;
  readonly wire: WireNames;
  /** Counts one wrong credential. @throws HubError rate_limited */
  readonly failedSignIn: (network: string) => Promise<void>;
}

/** The longest token that is looked at: identity providers put many claims in some. */
const maxToken = 16_384;
/** One text for an absent, an unknown and a revoked key: guesses learn nothing. */
const noKey =
  'The credentials are absent or not valid. Send an API key or an operator token as a bearer token.';

export const createHostedSchemes = (
  ports: HostedCallersOptions,
): { readonly [S in Extract<AuthScheme, 'hostedKey' | 'operatorJwt'>]: Scheme } => ({
  hostedKey: {
    presented: (headers) => isKey(ports, tokenOf(headers) ?? ''),
    attempted,
    identify: async (headers, network, repair) => ({
      caller: await counted(ports, headers, network, () => byKey(ports, headers, network, repair)),
      cookie: null,
    }),
    remembered(headers, network, repair) {
      const token = tokenOf(headers);
      const usable = token !== null && isKey(ports, token) && token.length <= maxCredential;
      const key = usable ? ports.ring.remembered(token) : null;
      // One that has expired counts as a wrong credential, and that is written down.
      if (!key || isExpired(key, ports.clock.now())) return null;
      return {
        caller: keyCaller('hostedKey', key.env, key, { headers, wire: ports.wire, network, repair }),
        cookie: null,
      };
    },
  },
  operatorJwt: {
    presented(headers) {
      const token = tokenOf(headers);
      return token !== null && !isKey(ports, token);
    },
    attempted,
    identify: async (headers, network) => ({
      caller: await counted(ports, headers, network, () => byToken(ports, headers)),
      cookie: null,
    }),
  },
});

const tokenOf = (headers: Headers): string | null => bearer(headers.get('authorization') ?? '');

const isKey = ({ wire }: HostedCallersOptions, token: string): boolean => token.startsWith(wire.keyPrefix);

/** Counts what `identify` refuses as a wrong credential; none at all is no guess. */
async function counted<T>(
  { failedSignIn }: HostedCallersOptions,
  headers: Headers,
  network: string,
  identify: () => Promise<T>,
): Promise<T> {
  try {
    return await identify();
  } catch (error) {
    const isGuess = tokenOf(headers) !== null;
    if (isGuess && error instanceof HubError && error.code === 'unauthenticated') await failedSignIn(network);
    throw error;
  }
}

async function keyOf(ports: HostedCallersOptions, token: string | null): Promise<ApiKey> {
  const { ring, clock } = ports;
  const key =
    token !== null && isKey(ports, token) && token.length <= maxCredential ? await ring.find(token) : null;
  if (!key) {
    if (token !== null && ring.wasRevoked(token)) throw refused('key_revoked', noKey);
    throw new HubError('unauthenticated', noKey);
  }
  if (isExpired(key, clock.now())) throw new HubError('unauthenticated', 'This API key has expired.');
  return key;
}

/** @throws HubError unauthenticated, forbidden, bad_request */
async function byKey(
  ports: HostedCallersOptions,
  headers: Headers,
  network: string,
  repair: AgentIdRepair,
): Promise<Caller> {
  const token = tokenOf(headers);
  if (token !== null && !isKey(ports, token)) {
    await operatorOf(ports, token, headers);
    throw refused('role_required', 'This endpoint is for agents. Send an API key.');
  }
  const key = await keyOf(ports, token);
  return keyCaller('hostedKey', key.env, key, { headers, wire: ports.wire, network, repair });
}

/** A service account, as an operator of the hub's own making. */
async function serviceOf({ services }: HostedCallersOptions, headers: Headers): Promise<Caller> {
  const { account, token } = await services.find(headers);
  const { tokenId, expiresAt } = { tokenId: token.id, expiresAt: token.expiresAt };
  return {
    kind: 'hostedOperator',
    tenantId: account.tenantId,
    issuer: 'service',
    subject: account.id,
    display: account.name,
    roles: account.roles,
    loginHash: token.hash,
    service: { tokenId, expiresAt },
    expiresAt,
  };
}

async function operatorOf(ports: HostedCallersOptions, token: string, headers: Headers): Promise<Caller> {
  if (ports.services.presented(headers)) return serviceOf(ports, headers);
  if (token.length > maxToken)
    throw new HubError(
      'unauthenticated',
      'The bearer token is too long. Send an API key or an operator token.',
    );
  return { kind: 'hostedOperator', ...(await ports.operatorTokens.identify(token)) };
}

async function byToken(ports: HostedCallersOptions, headers: Headers): Promise<Caller> {
  const token = tokenOf(headers);
  if (token === null) throw new HubError('unauthenticated', noKey);
  if (!isKey(ports, token)) return operatorOf(ports, token, headers);
  await keyOf(ports, token);
  throw refused(
    'operator_required',
    'This endpoint is for people. Send an operator token instead of an API key.',
  );
}

const attempted = (headers: Headers): boolean => headers.has('authorization');
