// Names that distinguish callers in counts and queues. An API key belongs to one environment, so its id stands for
// both. The part that callers choose themselves is at the end, so that no two names are equal.

/** A caller with an API key. A whole fleet may share a key, and replicas an agent id, so neither is limited alone. */
export interface KeyHolder {
  readonly keyId: string;
  /** The agent-id header's; null when absent. */
  readonly agentId: string | null;
  /** The IPv4 address, or the /64 of the IPv6 address. */
  readonly network: string;
}

/** Joined, because a template would keep its parts, and counts keep such a name for each agent of a fleet. */
const keyHolderName = (prefix: string, { keyId, network, agentId }: KeyHolder): string =>
  [prefix, '-key:', keyId, '/', network, '/', agentId ?? ''].join('');

/** The caller of a request, as far as limits distinguish callers. */
export type LimitedCaller =
  | ({ readonly kind: 'key' | 'hostedKey' } & KeyHolder)
  | { readonly kind: 'user'; readonly userId: string }
  | {
      readonly kind: 'hostedOperator';
      readonly tenantId: string;
      readonly issuer: string;
      readonly subject: string;
    }
  | { readonly kind: 'none' | 'operator' };

type Operator = Extract<LimitedCaller, { kind: 'hostedOperator' }>;

/** By length first, so that no issuer and subject can be read as another pair. */
const operatorName = ({ tenantId, issuer, subject }: Operator): string =>
  `${tenantId}/${issuer.length}/${issuer}/${subject}`;

/** The name of a caller in the counts of `prefix`; null if only the address distinguishes the caller. */
export function callerName(prefix: string, caller: LimitedCaller): string | null {
  switch (caller.kind) {
    case 'key':
    case 'hostedKey':
      return keyHolderName(prefix, caller);
    case 'user':
      return `${prefix}-user:${caller.userId}`;
    case 'hostedOperator':
      return `${prefix}-operator:${operatorName(caller)}`;
    default:
      return null;
  }
}

export const callerNames = {
  requestsOf: (caller: LimitedCaller) => callerName('requests', caller),
  streamsOf: (caller: LimitedCaller) => callerName('streams', caller),
  searchesOfAgent: ({ keyId, agentId }: KeyHolder) => `searches-agent:${keyId}/${agentId ?? ''}`,
  requestsOfNetwork: (network: string) => `requests-network:${network}`,
  newAgents: (keyId: string) => `new-agents:${keyId}`,
} as const;
